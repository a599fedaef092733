"""What a practitioner asks of her data: wrong labels, strange features, duplicates, weak groups."""
