package ledger

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"holdfast/gitops/repo/sign"
)

// PayloadType is that of in-toto statements (in-toto attestation framework, envelope).
const PayloadType = "application/vnd.in-toto+json"

// StatementType is that of version 1 of the in-toto statement.
const StatementType = "https://in-toto.io/Statement/v1"

// Statement is an in-toto Statement with a predicate of the ledger.
type Statement struct {
	Type string `json:"_type" jsonschema:"enum=https://in-toto.io/Statement/v1"`
	// Subject has one entry: the record's content.
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     Predicate  `json:"predicate"`
}

// Resource is what a statement is about.
type Resource struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Predicate is what all records have.
type Predicate struct {
	// Sequence counts the ledger's records from 1 on, without a gap.
	Sequence int64 `json:"sequence"`
	// Previous is the commit of the batch before; empty in the first.
	Previous string `json:"previous,omitempty"`
	// Time is when the batch was made, to the second, in UTC.
	Time time.Time `json:"time"`
	// Subject names what the record is about, the same from record to record.
	Subject string `json:"subject"`
	// Content is what it says. The statement's digest is over these very bytes.
	Content json.RawMessage `json:"content"`
	// Observed is what was seen beside it.
	Observed json.RawMessage `json:"observed,omitempty"`
}

// place is what a batch gives its records.
type place struct {
	previous string
	at       time.Time
}

// seal makes the file of a record.
func seal(r numbered, p place, signer sign.Signer) ([]byte, error) {
	s := Statement{
		Type:          StatementType,
		Subject:       []Resource{{Name: r.record.Subject, Digest: map[string]string{"sha256": sum(r.content)}}},
		PredicateType: r.name.Kind.PredicateType(),
		Predicate: Predicate{
			Sequence: r.name.Sequence, Previous: p.previous, Time: p.at, Subject: r.record.Subject, Content: r.content,
		},
	}
	if r.record.Observed != nil {
		var err error
		if s.Predicate.Observed, err = marshal(r.record.Observed); err != nil {
			return nil, err
		}
	}
	payload, err := marshal(s)
	if err != nil {
		return nil, err
	}
	sealer, err := dsse.NewEnvelopeSigner(envelopeSigner{signer})
	if err != nil {
		return nil, err
	}
	envelope, err := sealer.SignPayload(context.Background(), PayloadType, payload)
	if err != nil {
		return nil, err
	}
	file, err := marshal(envelope)
	if err != nil {
		return nil, err
	}
	if len(file) >= MaxRecord {
		return nil, fmt.Errorf("%s of %s: the record has %d bytes, at most %d are kept", r.name.Kind, r.record.Subject, len(file), MaxRecord)
	}
	return append(file, '\n'), nil
}

// envelopeSigner signs envelopes with the key of the commits. The signature is the armored text that ssh-keygen
// and gpg read, so that base64 alone stands between an envelope and them.
type envelopeSigner struct{ signer sign.Signer }

func (s envelopeSigner) Sign(_ context.Context, data []byte) ([]byte, error) {
	armored, err := s.signer.SignIn(Namespace, data)
	return []byte(armored), err
}

func (s envelopeSigner) KeyID() (string, error) { return s.signer.KeyID(), nil }

// opened is an envelope as far as it could be read.
type opened struct {
	// payload, armored and keyID are as the envelope has them; signed is what the signature is about.
	payload, signed []byte
	armored, keyID  string
}

// unseal reads an envelope strictly: a byte that means nothing could be changed unseen.
func unseal(file []byte) (opened, error) {
	var out opened
	var e dsse.Envelope
	if err := decode(file, &e); err != nil {
		return out, fmt.Errorf("no DSSE envelope: %w", err)
	}
	switch {
	case e.PayloadType != PayloadType:
		return out, fmt.Errorf("payload type %q, want %s", e.PayloadType, PayloadType)
	case len(e.Signatures) != 1:
		return out, fmt.Errorf("%d signatures, want one", len(e.Signatures))
	}
	strict := base64.StdEncoding.Strict()
	var err error
	if out.payload, err = strict.DecodeString(e.Payload); err != nil {
		return out, errors.New("its payload is no base64")
	}
	armored, err := strict.DecodeString(e.Signatures[0].Sig)
	if err != nil {
		return out, errors.New("its signature is no base64")
	}
	out.armored, out.keyID = string(armored), e.Signatures[0].KeyID
	out.signed = dsse.PAE(e.PayloadType, out.payload)
	if again, err := marshal(e); err != nil || !bytes.Equal(append(again, '\n'), file) {
		return out, errors.New("the envelope is not written as the ledger writes it")
	}
	return out, nil
}

// statement reads the payload. Fields that a later version may add are let through.
func (o opened) statement() (Statement, error) {
	var s Statement
	if !utf8.Valid(o.payload) {
		return s, errors.New("the payload is not UTF-8")
	}
	if err := json.Unmarshal(o.payload, &s); err != nil {
		return s, fmt.Errorf("the payload is no statement: %w", err)
	}
	switch {
	case s.Type != StatementType:
		return s, fmt.Errorf("statement type %q, want %s", s.Type, StatementType)
	case len(s.Subject) != 1 || s.Subject[0].Name != s.Predicate.Subject || s.Predicate.Subject == "":
		return s, errors.New("the statement's subject is not the record's")
	case len(s.Predicate.Content) == 0:
		return s, errors.New("the record has no content")
	case s.Predicate.Sequence <= 0 || s.Predicate.Time.IsZero():
		return s, errors.New("the record has no sequence number or no time")
	}
	return s, nil
}

// decode is strict: unknown fields and trailing data are errors.
func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}
