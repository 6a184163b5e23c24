"""A small stock list: what is on the shelf, what is running out, what it is worth."""

import csv
from dataclasses import dataclass, field


@dataclass
class Item:
    sku: str
    name: str
    quantity: int
    price_cents: int
    tags: list = field(default_factory=list)

    def value_cents(self):
        return self.quantity * self.price_cents


class OutOfStock(Exception):
    def __init__(self, sku, wanted, available):
        super().__init__(f"{sku}: {wanted} wanted, {available} available")
        self.sku = sku


class Inventory:
    def __init__(self, items=()):
        self.items = {item.sku: item for item in items}

    def find(self, sku):
        if sku not in self.items:
            raise KeyError(f"no item has the SKU {sku!r}")
        return self.items[sku]

    def add(self, item):
        if item.sku in self.items:
            self.find(item.sku).quantity += item.quantity
        else:
            self.items[item.sku] = item

    def remove(self, sku, quantity):
        item = self.find(sku)
        if quantity > item.quantity:
            raise OutOfStock(sku, quantity, item.quantity)
        item.quantity -= quantity
        return item

    def with_tag(self, tag):
        return [item for item in self.items.values() if tag in item.tags]

    def running_out(self, threshold=5):
        return sorted(
            (item for item in self.items.values() if item.quantity <= threshold),
            key=lambda item: item.quantity,
        )

    def total_value_cents(self):
        return sum(item.value_cents() for item in self.items.values())


def load(path):
    inventory = Inventory()
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            tags = [tag for tag in row.get("tags", "").split(";") if tag]
            quantity, price = int(row["quantity"]), int(row["price_cents"])
            inventory.add(Item(row["sku"], row["name"], quantity, price, tags))
    return inventory


def report(inventory):
    lines = [f"{len(inventory.items)} items, {inventory.total_value_cents() / 100:.2f} in stock"]
    for item in inventory.running_out():
        lines.append(f"  {item.name} ({item.sku}): only {item.quantity} left")
    return "\n".join(lines)
