if x:
    y = 1
    # end