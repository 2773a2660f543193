package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"

	"github.com/seed-7a986423/autocode/loop"
)

// failure is what a request that failed means.
type failure struct {
	fault loop.ModelFault
	retry bool
	// lacks is the ability that the endpoint says it has not.
	lacks ability
	// guess says that the endpoint refused without naming a reason: abilities may be tried off.
	guess bool
	// costs says that tokens may have been billed although no answer came.
	costs bool
	// timeout says that no whole answer came in time.
	timeout bool
	message string
}

// maxMessage bounds what is quoted of an endpoint's error, in bytes: one or two sentences.
const maxMessage = 400

// What endpoints say, in lower case. They agree on no codes, so their words are what there is;
// the forms are those of OpenAI, Azure, Anthropic, vLLM, llama.cpp, Ollama and OpenRouter.
var (
	saysOverflow = regexp.MustCompile(`context[_ ](length|window|size)|maximum (context|model length|prompt length|input length)|too many (input )?tokens|(prompt|input|request|message|messages|conversation|inputs?) (is|are) too (long|large)|exceed_context_size|context_length_exceeded|request too large|reduce (the|your) (length|prompt|messages)|exceeds? (the )?(available|maximum|model|limit)|token limit exceeded|context shift is disabled|max_new_tokens.? must be|(range of )?input length should be|longer than the (maximum )?model|maximum allowed (input|number of tokens)|exceed(s|ed)? (the )?(max|maximum)[ _](seq|sequence|input|number of tokens)`)
	saysFilter   = regexp.MustCompile(`content[_ ]filter|content management policy|responsibleaipolicy|usage polic`)
	saysNoModel  = regexp.MustCompile(`model\b.*(not found|not exist|does not exist|unknown|no such)|(unknown|invalid|no such) model`)
	saysQuota    = regexp.MustCompile(`insufficient_quota|exceeded your current quota|billing|credit`)
	saysStream   = regexp.MustCompile(`stream.{0,20}(mode|only|true|required|must|enable)|(only|must|requires?|enable|set).{0,24}stream`)
	saysBusy     = regexp.MustCompile(`rate limit|too many requests|overloaded|capacity|throttl`)
	saysMissing  = regexp.MustCompile(`support|unknown|unrecogni[sz]ed|invalid|requires?|not allowed|unexpected|extra (inputs|fields)|jinja|only|deprecated`)

	// saysTooLarge is a rate limit that one request exceeds alone: it would never pass by waiting.
	saysTooLarge = regexp.MustCompile(`request too large`)

	saysFormat      = regexp.MustCompile(`response_format|response format|json_schema|json_object|structured output|grammar|schema`)
	saysTools       = regexp.MustCompile(`\btools?\b|tool_choice|tool_calls?|tool use|function[_ ]call`)
	saysTemperature = regexp.MustCompile(`temperature|sampling`)
	saysLimit       = regexp.MustCompile(`max_tokens|max_completion_tokens|max_output_tokens|maximum output`)
	saysSystem      = regexp.MustCompile(`system (role|message|prompt)|role '?"?system|roles must alternate|developer message`)
)

// classify says what a failed request means.
func classify(ctx context.Context, t *trace, err error) failure {
	switch {
	case errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated):
		return failure{fault: loop.ModelRejected, lacks: abilityLimit, message: err.Error()}
	case errors.Is(err, openai.ErrReasoningModelLimitationsOther), errors.Is(err, openai.ErrReasoningSamplingUnsupported):
		return failure{fault: loop.ModelRejected, lacks: abilityTemperature, message: err.Error()}
	case errors.Is(err, openai.ErrReasoningToolsRequireResponses):
		return failure{fault: loop.ModelRejected, lacks: abilityTools, message: err.Error()}
	case errors.Is(err, openai.ErrChatCompletionInvalidModel):
		return failure{fault: loop.ModelRejected, message: "the model is not one for chat completions"}
	case ctx.Err() != nil:
		return failure{fault: loop.ModelUnreachable, costs: true, message: ctx.Err().Error()}
	case errors.Is(err, errTooLarge):
		return failure{fault: loop.ModelBroken, costs: true, message: err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return failure{fault: loop.ModelUnreachable, retry: true, costs: true, timeout: true, message: "no whole answer within the time-out"}
	case t.status == 0:
		return failure{fault: loop.ModelUnreachable, retry: true, message: cut(err.Error(), maxMessage)}
	case t.status < http.StatusMultipleChoices:
		return ofBrokenAnswer(t, err)
	case t.status < http.StatusBadRequest:
		return failure{fault: loop.ModelRejected, message: err.Error()}
	}
	message := errorText(t.body)
	if message == "" {
		message = strings.TrimSpace(http.StatusText(t.status) + " " + plainWords(t.body))
		if t.status == http.StatusNotFound {
			message += "; there is no chat completion at this address: does the base URL lack /v1?"
		}
	}
	f := ofStatus(t.status, message)
	if f.fault == loop.ModelRejected && f.lacks == abilityNone && saysNoModel.MatchString(strings.ToLower(message)) {
		f.message += "; set the model's name (AUTOCODE_MODEL, or model.name of the configuration) to one that GET /models of this endpoint lists"
	}
	return f
}

// plainWords is an error's body that is neither JSON nor a page.
func plainWords(body []byte) string {
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "<") || strings.HasPrefix(text, "{") || !utf8.ValidString(text) {
		return ""
	}
	return cut(text, maxMessage)
}

// ofBrokenAnswer judges an answer of status 200 that cannot be used; some proxies report the
// errors of the endpoint behind them that way.
func ofBrokenAnswer(t *trace, err error) failure {
	if message := errorText(t.body); message != "" {
		status := errorCode(t.body)
		if status < http.StatusBadRequest {
			status = http.StatusBadGateway
		}
		f := ofStatus(status, message)
		f.costs = true
		return f
	}
	if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(t.body, byteOrderMark)), []byte("<")) {
		return failure{fault: loop.ModelBroken, retry: true, message: "the answer is a web page and not a chat completion; is the base URL the API's (it often ends with /v1), and does a proxy on the way want a login?"}
	}
	message := "the answer is not a chat completion"
	if err != nil {
		message += ": " + err.Error()
	}
	return failure{fault: loop.ModelBroken, retry: true, costs: true, message: cut(message, maxMessage)}
}

// ofStatus judges an HTTP status of 400 or more with the endpoint's message.
func ofStatus(status int, message string) failure {
	low := strings.ToLower(message)
	f := failure{message: strconv.Itoa(status) + ": " + cut(message, maxMessage)}
	switch {
	case status == http.StatusRequestEntityTooLarge, status == http.StatusTooManyRequests && saysTooLarge.MatchString(low),
		status != http.StatusTooManyRequests && saysOverflow.MatchString(low) && !saysBusy.MatchString(low):
		f.fault = loop.ModelOverflow
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		f.fault = loop.ModelUnauthorised
	case status == http.StatusTooManyRequests:
		f.fault, f.retry = loop.ModelRateLimited, !saysQuota.MatchString(low)
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		f.fault, f.retry = loop.ModelBroken, true
	case status >= http.StatusInternalServerError:
		f.fault, f.retry = loop.ModelBroken, true
		if saysMissing.MatchString(low) {
			f.lacks = named(low)
		}
	case saysFilter.MatchString(low):
		f.fault = loop.ModelRefused
	default:
		f.fault = loop.ModelRejected
		switch status {
		case http.StatusBadRequest, http.StatusUnprocessableEntity:
			f.lacks = named(low)
			f.guess = f.lacks == abilityNone && !saysNoModel.MatchString(low)
		case http.StatusNotFound: // routers answer so where no model behind them has the feature
			if saysMissing.MatchString(low) && !saysNoModel.MatchString(low) {
				f.lacks = named(low)
			}
		}
	}
	return f
}

// named returns the ability that an error in lower case talks about.
func named(low string) ability {
	switch {
	case saysStream.MatchString(low):
		return abilityWhole
	case saysSystem.MatchString(low):
		return abilitySystem
	case saysTemperature.MatchString(low):
		return abilityTemperature
	case saysLimit.MatchString(low):
		return abilityLimit
	case saysTools.MatchString(low):
		return abilityTools
	case saysFormat.MatchString(low):
		return abilityFormat
	}
	return abilityNone
}

// errorText finds the message in an error body, whichever of the usual shapes it has.
func errorText(body []byte) string {
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &shape) != nil {
		return ""
	}
	for _, raw := range []json.RawMessage{shape.Error, shape.Message, shape.Detail} {
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
		var inner struct {
			Message string `json:"message"`
			Code    any    `json:"code"`
			Type    string `json:"type"`
		}
		if json.Unmarshal(raw, &inner) == nil && inner.Message != "" {
			if code, ok := inner.Code.(string); ok && code != "" {
				return inner.Message + " (" + code + ")"
			}
			return inner.Message
		}
		return string(raw)
	}
	return ""
}

// errorCode finds a numeric code in an error body, 0 where there is none.
func errorCode(body []byte) int {
	var shape struct {
		Error struct {
			Code json.RawMessage `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &shape) != nil {
		return 0
	}
	code, err := strconv.Atoi(strings.Trim(string(shape.Error.Code), `"`))
	if err != nil {
		return 0
	}
	return code
}

// saysWhen is how endpoints without the header say when to come back.
var saysWhen = regexp.MustCompile(`(?i)(?:try again|retry(?:ing)?) (?:in|after) (\d+(?:\.\d+)?) ?(ms|milliseconds?|s|seconds?|m|minutes?)\b`)

// retryAfter reads how long to wait: from the header, in seconds or as a date, from the one in
// milliseconds, or from the words of the error; ok is false where nothing says so.
func retryAfter(t *trace, now time.Time) (wait time.Duration, ok bool) {
	const longest = 24 * time.Hour // a number beyond a day is as good as never, and must not overflow
	bounded := func(n float64, unit time.Duration) time.Duration {
		return time.Duration(min(n*float64(unit), float64(longest)))
	}
	if ms, err := strconv.ParseFloat(strings.TrimSpace(t.header.Get("Retry-After-Ms")), 64); err == nil && ms >= 0 {
		return bounded(ms, time.Millisecond), true
	}
	value := strings.TrimSpace(t.header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(strings.TrimSuffix(value, "s"), 64); err == nil && seconds >= 0 {
		return bounded(seconds, time.Second), true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0), true
	}
	if t.status != http.StatusTooManyRequests && t.status != http.StatusServiceUnavailable {
		return 0, false
	}
	said := saysWhen.FindStringSubmatch(string(t.body))
	if said == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(said[1], 64)
	if err != nil {
		return 0, false
	}
	unit := time.Second
	switch {
	case said[2] == "m", strings.HasPrefix(said[2], "minute"):
		unit = time.Minute
	case strings.HasPrefix(said[2], "m"):
		unit = time.Millisecond
	}
	return bounded(n, unit), true
}

// cut shortens a text to at most n bytes, at a rune's border.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
