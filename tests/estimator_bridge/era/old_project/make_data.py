"""Writes trips.csv and later_trips.csv: rides of a taxi, and whether the tip was large."""

import csv
import random


def write(path, rows, seed):
    chance = random.Random(seed)
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["miles", "minutes", "payment", "hour", "large_tip"])
        for _ in range(rows):
            miles = round(chance.uniform(0.5, 15), 2)
            minutes = round(miles * chance.uniform(2, 5), 1)
            payment = chance.choice(["card", "cash", "app"])
            hour = chance.randrange(24)
            score = 0.2 * miles + (1.5 if payment != "cash" else -2) + (0.5 if hour > 18 else 0)
            table.writerow([miles, minutes, payment, hour, int(score + chance.gauss(0, 1) > 2.5)])


if __name__ == "__main__":
    write("trips.csv", 4000, 1)
    write("later_trips.csv", 1000, 2)
