module independent

go 1.22
