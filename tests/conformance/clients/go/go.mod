module drive

go 1.21

require github.com/go-kafka/connect v0.9.0
