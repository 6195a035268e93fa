"""The command `doctor`: what is installed, and whether Estimators work here."""
