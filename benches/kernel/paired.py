def deliveries(s,w): pass
def windows(s,w): pass
