from setuptools import find_packages, setup

setup(
    name="taxi-trainer",
    version="1.3",
    packages=find_packages(),
    install_requires=["tensorflow>=2.4,<2.5"],
)
