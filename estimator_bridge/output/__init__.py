"""What is printed and written for people to read: terminals, logs, HTML pages."""
