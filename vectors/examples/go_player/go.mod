module vectors/player

go 1.26.0
