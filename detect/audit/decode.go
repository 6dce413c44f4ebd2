package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	// maxRecord bounds one event, in bytes; the API server limits a request body to 3 MiB, and an event holds two
	// bodies.
	maxRecord = 8 << 20
	// maxWrapped is how deep one form may stand in another: a list in a text in an envelope in a list.
	maxWrapped = 6
	// maxWhere is how many broken records are named.
	maxWhere = 5
)

// errTooLong is told of a record that is longer than maxRecord.
var errTooLong = errors.New("longer than 8 MiB")

// envelope is what clouds put around an event.
type envelope struct {
	// Message is a CloudWatch log event's text, also with an @ before its name in exports of Logs Insights:
	// https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/SubscriptionFilters.html
	Message   json.RawMessage `json:"message"`
	AtMessage json.RawMessage `json:"@message"`
	// Field and Value are a cell of a Logs Insights result:
	// https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetQueryResults.html
	Field json.RawMessage `json:"field"`
	Value json.RawMessage `json:"value"`
	// Properties holds the event as a text in Azure's resource logs, LogS in the table AzureDiagnostics:
	// https://learn.microsoft.com/azure/aks/monitor-aks-reference
	Properties json.RawMessage `json:"properties"`
	LogS       json.RawMessage `json:"log_s"`
	// ProtoPayload is Google's form of an audit event, with the LogEntry's own time and id.
	ProtoPayload json.RawMessage `json:"protoPayload"`
	Timestamp    json.RawMessage `json:"timestamp"`
	InsertID     json.RawMessage `json:"insertId"`
}

// lists are the names under which the forms keep several records.
type lists struct {
	Items     []json.RawMessage `json:"items"`     // EventList
	Events    []json.RawMessage `json:"events"`    // aws logs filter-log-events
	LogEvents []json.RawMessage `json:"logEvents"` // CloudWatch Logs subscriptions
	Results   []json.RawMessage `json:"results"`   // CloudWatch Logs Insights
	Records   []json.RawMessage `json:"records"`   // Azure Event Hubs and storage accounts
}

// Decode reads a log: one JSON value a line, or JSON documents of any layout. Events may stand in any order. What is
// of another kind or broken is counted and passed over; an error means that reading failed, or that a log which is
// not empty has no audit event in it, or that it is longer than 4 GiB. Of very many writes the newest are kept.
func Decode(r io.Reader) (*Log, error) { return decode(r, usual()) }

func decode(r io.Reader, b bounds) (*Log, error) {
	log := NewLog()
	log.bounds = b
	in := bufio.NewReaderSize(&cappedReader{r, b.read}, 64<<10)
	line, err := readLine(in)
	for err == nil && len(bytes.TrimSpace(line)) == 0 {
		log.Lines++
		line, err = readLine(in)
	}
	if err == nil && opensDocument(line) {
		err = log.documents(io.MultiReader(bytes.NewReader(line), strings.NewReader("\n"), in))
	} else {
		err = log.lines(in, line, err)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if log.cut && log.Events > 0 {
		log.Lose(Window{From: log.First, To: log.Last}) // in which order the events stand is not known
	}
	if log.Events > 0 || log.Lines == 0 || log.Broken+log.Skipped == 0 {
		return log, nil
	}
	if log.Broken > 0 {
		return nil, fmt.Errorf("no audit event in it: %s", log.Where[0])
	}
	return nil, errors.New("no audit event in it: want events of audit.k8s.io/v1, or what EKS, GKE or AKS export of them")
}

// opensDocument says whether a first line is the beginning of a document that goes on.
func opensDocument(line []byte) bool {
	line = bytes.TrimSpace(line)
	return (line[0] == '{' || line[0] == '[') && len(line) < 4096 && !json.Valid(line) && !bytes.Contains(line, []byte(`"kind"`))
}

// readLine gives a line without its end. One that is too long is read to its end and told by errTooLong.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxRecord; !tooLong {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errTooLong
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		}
		return line, err
	}
}

func (l *Log) lines(in *bufio.Reader, line []byte, err error) error {
	for ; err == nil || errors.Is(err, errTooLong); line, err = readLine(in) {
		l.Lines++
		place := fmt.Sprintf("line %d", l.Lines)
		line = bytes.TrimSpace(line)
		switch {
		case err != nil:
			l.broken(place, errTooLong.Error())
		case len(line) == 0:
		default:
			l.value(place, withoutStamp(line), 0)
		}
	}
	return err
}

// withoutStamp takes off the time that a CloudWatch export to S3 puts before each message:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/S3Export.html
func withoutStamp(line []byte) []byte {
	stamp, rest, ok := bytes.Cut(line, []byte(" "))
	if _, err := time.Parse(time.RFC3339, string(stamp)); ok && err == nil {
		return bytes.TrimSpace(rest)
	}
	return line
}

// documents reads JSON documents of any layout, an array's or a list's records one by one.
func (l *Log) documents(r io.Reader) error {
	bounded := &boundedReader{r: r}
	in := json.NewDecoder(bounded)
	for {
		bounded.left = maxRecord
		start, err := in.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			if start == json.Delim('[') {
				err = l.array(in, bounded)
			} else if start == json.Delim('{') {
				err = l.document(in, bounded)
			}
		}
		var syntax *json.SyntaxError
		switch {
		case err == nil:
		case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, errTooLong):
			l.Lines++
			l.broken(fmt.Sprintf("from byte %d on", in.InputOffset()), plainError(err))
			l.cut = true
			return nil
		default:
			return err
		}
	}
}

// document reads an object whose beginning was read: its lists record by record, the rest as one record.
func (l *Log) document(in *json.Decoder, bounded *boundedReader) error {
	rest := map[string]json.RawMessage{}
	listed := false
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return err
		}
		switch name {
		case "items", "events", "logEvents", "results", "records":
			start, err := in.Token()
			if err != nil {
				return err
			}
			if start != json.Delim('[') {
				return errors.New("a list of events is none")
			}
			listed = true
			if err := l.array(in, bounded); err != nil {
				return err
			}
		default:
			var value json.RawMessage
			if err := in.Decode(&value); err != nil {
				return err
			}
			text, _ := name.(string)
			rest[text] = value
		}
	}
	if _, err := in.Token(); err != nil || listed {
		return err
	}
	value, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	l.Lines++
	l.value(fmt.Sprintf("before byte %d", in.InputOffset()), value, 0)
	return nil
}

func (l *Log) array(in *json.Decoder, bounded *boundedReader) error {
	for in.More() {
		bounded.left = maxRecord
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return err
		}
		l.Lines++
		l.value(fmt.Sprintf("record %d", l.Lines), value, 0)
	}
	_, err := in.Token()
	return err
}

// boundedReader fails once more than left bytes were read.
type boundedReader struct {
	r    io.Reader
	left int
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

func (l *Log) broken(place, why string) {
	l.Broken++
	if len(l.Where) < maxWhere {
		l.Where = append(l.Where, place+": no audit event: "+why)
	}
}

// Read adds the events of one JSON value in any of the forms. Place names it where it is broken.
func (l *Log) Read(place string, data []byte) {
	l.Lines++
	if len(data) > maxRecord {
		l.broken(place, errTooLong.Error())
		return
	}
	l.value(place, bytes.TrimSpace(data), 0)
}

// value reads one JSON value, which may hold others.
func (l *Log) value(place string, data []byte, depth int) {
	if depth > maxWrapped {
		l.broken(place, "wrapped too deep")
		return
	}
	var parts []json.RawMessage
	switch {
	case len(data) > 0 && data[0] == '[':
		if err := json.Unmarshal(data, &parts); err != nil {
			l.salvage(place, data, err)
			return
		}
	case len(data) > 0 && data[0] == '{':
		var r record
		if err := json.Unmarshal(data, &r); err != nil {
			l.salvage(place, data, err)
			return
		}
		parts = l.record(place, &r)
	default: // other components' texts, as EKS has them in the same log group
		l.Skipped++
	}
	for _, part := range parts {
		l.value(place, unquoted(part), depth+1)
	}
}

// salvage reads the records of a list that breaks off, as an export on a single line does that was cut.
func (l *Log) salvage(place string, data []byte, why error) {
	l.broken(place, plainError(why))
	var syntax *json.SyntaxError
	if !errors.As(why, &syntax) {
		return
	}
	before := l.Events
	bounded := &boundedReader{r: bytes.NewReader(data), left: maxRecord}
	in := json.NewDecoder(bounded)
	// That it breaks is told already, and where.
	switch start, _ := in.Token(); start {
	case json.Delim('['):
		_ = l.array(in, bounded)
	case json.Delim('{'):
		_ = l.document(in, bounded)
	}
	l.cut = l.cut || l.Events > before
}

// record reads a record that is an event itself, and gives what else it holds.
func (l *Log) record(place string, r *record) []json.RawMessage {
	switch {
	case len(r.ProtoPayload) > 0:
		l.google(place, r)
		return nil
	case r.Kind == "Event" && strings.HasPrefix(r.APIVersion, "audit.k8s.io/"), r.Kind == "" && r.Stage != "" && r.AuditID != "":
		// Those in an EventList, and rows of AKSAudit, do not name their kind:
		// https://learn.microsoft.com/azure/azure-monitor/reference/tables/aksaudit
		l.event(place, r.event)
		return nil
	}
	for _, list := range [][]json.RawMessage{r.Items, r.Events, r.LogEvents, r.Results, r.Records} {
		if list != nil {
			return list
		}
	}
	for _, text := range []json.RawMessage{r.Message, r.AtMessage, r.LogS} {
		if len(text) > 0 {
			return []json.RawMessage{text}
		}
	}
	if string(unquoted(r.Field)) == "@message" {
		return []json.RawMessage{r.Value}
	}
	var properties struct {
		Log json.RawMessage `json:"log"`
	}
	if raw := unquoted(r.Properties); len(raw) > 0 && json.Unmarshal(raw, &properties) == nil && len(properties.Log) > 0 {
		return []json.RawMessage{properties.Log}
	}
	l.Skipped++
	return nil
}

// event counts an event of audit.k8s.io/v1 and keeps it where it is a write.
func (l *Log) event(place string, e event) {
	write, ok, fault := e.write()
	if fault != "" {
		l.broken(place, fault)
		return
	}
	l.Events++
	if at, known := e.time(); known {
		l.Cover(at)
	}
	if ok {
		l.Add(write)
	}
}

// plainError keeps content of the log, which may hold secrets, out of messages.
func plainError(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("invalid JSON at byte %d", syntax.Offset)
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return mismatch.Field[strings.LastIndex(mismatch.Field, ".")+1:] + " is not of the type that events have"
	}
	if errors.Is(err, errTooLong) {
		return errTooLong.Error()
	}
	return "invalid JSON"
}
