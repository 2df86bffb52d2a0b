// Drives go-kafka/connect: an operation a line on standard input, what the client returned or failed with on output.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"os"

	"github.com/go-kafka/connect"
)

type ask struct {
	Do     string            `json:"do"`
	Name   string            `json:"name"`
	Config map[string]string `json:"config"`
}

type answer map[string]any

func main() {
	client := connect.NewClient(os.Args[1])
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked ask
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := out.Encode(operate(client, asked)); err != nil {
			panic(err)
		}
	}
}

func operate(client *connect.Client, asked ask) answer {
	var returned any
	var response *http.Response
	var err error
	switch asked.Do {
	case "list":
		returned, response, err = client.ListConnectors()
	case "create":
		made := &connect.Connector{Name: asked.Name, Config: asked.Config}
		response, err = client.CreateConnector(made)
		returned = made
	case "put":
		returned, response, err = client.UpdateConnectorConfig(asked.Name, asked.Config)
	case "info":
		returned, response, err = client.GetConnector(asked.Name)
	case "config":
		returned, response, err = client.GetConnectorConfig(asked.Name)
	case "status":
		returned, response, err = client.GetConnectorStatus(asked.Name)
	case "tasks":
		returned, response, err = client.GetConnectorTasks(asked.Name)
	case "pause":
		response, err = client.PauseConnector(asked.Name)
	case "resume":
		response, err = client.ResumeConnector(asked.Name)
	case "restart":
		response, err = client.RestartConnector(asked.Name)
	case "delete":
		response, err = client.DeleteConnector(asked.Name)
	default:
		return answer{"unknown": asked.Do}
	}
	said := answer{}
	if response != nil {
		said["status"] = response.StatusCode
	}
	var failed connect.APIError
	switch {
	case errors.As(err, &failed):
		said["raised"], said["message"] = "APIError", failed.Message
	case err != nil:
		said["raised"], said["message"] = "error", err.Error()
	default:
		said["returned"] = returned
	}
	return said
}
