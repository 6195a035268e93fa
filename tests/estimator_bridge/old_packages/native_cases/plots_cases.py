"""What programs called; native: matplotlib 2.2.5, Pillow 8.4.0 and PyYAML 5.3.1."""

import io

import matplotlib
import numpy as np
import yaml

matplotlib.use("Agg", warn=False)

import matplotlib.cm as cm
import matplotlib.mlab as mlab
import matplotlib.pyplot as plt
import PIL.Image
import PIL.ImageDraw
import PIL.ImageFont


def case_hist():
    values = [1.0, 2.0, 2.0, 4.0]
    figure, axes = plt.subplots()
    counts, edges, _ = plt.hist(values, 3, normed=True)
    other, _, _ = axes.hist(values, bins=3, normed=0)
    both = plt.hist2d(values, values, bins=2, normed=1)[0]
    plt.close(figure)
    return [np.round(counts, 12), edges, [int(one) for one in other], np.round(both, 12)]


def case_hist_unknown():
    return plt.hist([1.0], no_such_argument=1)


def case_maps():
    found = [plt.cm.get_cmap("viridis").name, cm.get_cmap("jet", 5).N, plt.get_cmap("hot").name]
    return [*found, np.round(cm.get_cmap("viridis")(0.5), 6)]


def case_axes():
    figure = plt.figure()
    first = figure.gca(projection="polar")
    same = figure.gca() is first
    plt.hold(True)
    plt.grid(b=True)
    first.grid(b=False, axis="x")
    plt.close(figure)
    return [first.name, same]


def case_colorbar():
    figure, axes = plt.subplots()
    colours = plt.cm.ScalarMappable(cmap="jet")
    colours.set_array([])
    plt.colorbar(colours)
    image = axes.imshow([[1, 2]])
    figure.colorbar(image, ax=axes)
    found = len(figure.axes)
    plt.close(figure)
    return found


def case_bars():
    figure, axes = plt.subplots()
    bars = [*plt.bar(left=[1, 2], height=[3, 4], width=1), *axes.bar([5], [6], width=1)]
    figure.canvas.set_window_title("title")
    plt.close(figure)
    return [[one.get_x(), one.get_height()] for one in bars]


def case_styles():
    for name in ("seaborn-whitegrid", "seaborn", "ggplot"):
        with plt.style.context(name):
            pass
    return "seaborn-darkgrid" in plt.style.library


def case_canvas():
    figure = plt.figure(figsize=(1, 0.5), dpi=20)
    figure.canvas.draw()
    data = figure.canvas.tostring_rgb()
    plt.close(figure)
    return [list(figure.canvas.get_width_height()), len(data), list(data[:6])]


def case_normal():
    return np.round(mlab.normpdf(np.array([0.0, 1.5]), 1.0, 2.0), 12)


def case_filters():
    image = PIL.Image.fromarray(np.arange(16, dtype=np.uint8).reshape(4, 4))
    return [
        np.array(image.resize((2, 2), PIL.Image.ANTIALIAS)),
        np.array(image.resize((3, 3), PIL.Image.LINEAR)),
        PIL.Image.CUBIC == PIL.Image.BICUBIC,
    ]


def case_text_size():
    font = PIL.ImageFont.load_default()
    if not isinstance(font, PIL.ImageFont.ImageFont):
        font = PIL.ImageFont.load_default_imagefont()
    draw = PIL.ImageDraw.Draw(PIL.Image.new("L", (50, 50)))
    return [
        list(font.getsize("text")),
        list(draw.textsize("text", font)),
        list(draw.textsize("one\nlonger", font=font)),
        list(draw.multiline_textsize("one\nlonger", font=font, spacing=2)),
    ]


def case_yaml():
    return [
        yaml.load("a: [1, 2.5]"),
        yaml.load(io.StringIO("b: text")),
        yaml.load("c: 1", Loader=yaml.SafeLoader),
        yaml.load("c: 1", yaml.SafeLoader),
        list(yaml.load_all("1\n---\n2")),
    ]
