/* Hands over whatever a caller may get wrong, and prints a line for each thing that is not told as it should be.
 *
 *     bad_input MODEL OPTIONS
 */
#include <millstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int faults = 0;

static void expect(const char *what, MsStatus status, MsStatus expected, const char *told) {
    if (status != expected || !strstr(ms_last_error(), told)) {
        printf("%s: status %d instead of %d, or no '%s' in: %s\n", what, status, expected, told, ms_last_error());
        ++faults;
    }
}

static void require(const char *what, int is_so) {
    if (!is_so) {
        printf("%s\n", what);
        ++faults;
    }
}

static void without_a_session(const char *model) {
    MsSession *session = (MsSession *)&faults;
    MsResult *result = (MsResult *)&faults;
    MsPort port;
    MsTensor tensor = {0};
    char *json = (char *)&faults;
    const MsStatus bad = MS_STATUS_INVALID_ARGUMENT;
    expect("no place", ms_session_open(model, NULL, NULL), bad, "session is a null pointer");
    expect("no model", ms_session_open(NULL, NULL, &session), bad, "name a model or a schedule");
    require("what failed leaves a session", session == NULL);
    expect("no options", ms_session_open(model, "{", &session), bad, "the options are not usable");
    expect("unknown option", ms_session_open(model, "{ \"objctive\": 1 }", &session), bad, "objctive");
    expect("unknown objective", ms_session_open(model, "{ \"objective\": \"speed\" }", &session), bad, "speed");
    expect("no UTF-8", ms_session_open("\xff", NULL, &session), bad, "model is not UTF-8");
    expect("missing model", ms_session_open("none.onnx", NULL, &session), MS_STATUS_FILE_ERROR, "none.onnx");
    expect("missing schedule", ms_session_open(model, "{ \"schedule\": \"none.json\" }", &session),
           MS_STATUS_FILE_ERROR, "none.json");
    expect("no schedule", ms_session_open(model, "{ \"schedule\": {} }", &session), MS_STATUS_FAILED, "schedule");
    expect("missing network", ms_session_open("zoo:none", NULL, &session), bad, "no network 'none'");
    expect("no such engine", ms_session_open(model, "{ \"engine\": \"nothing\" }", &session), bad, "nothing");
    expect("no such dimension", ms_session_open(model, "{ \"dimensions\": { \"n\": 3 } }", &session), bad,
           "no open dimension called n");
    expect("run", ms_session_run(NULL, &tensor, 1, &result), bad, "session is a null pointer");
    require("what failed leaves a result", result == NULL);
    expect("submit", ms_session_submit(NULL, &tensor, 1, 0, NULL), bad, "session is a null pointer");
    expect("receive", ms_session_receive(NULL, 0, &result), bad, "session is a null pointer");
    expect("await", ms_session_await(NULL, 0, &result), bad, "session is a null pointer");
    expect("end", ms_session_end(NULL), bad, "session is a null pointer");
    expect("input", ms_session_input(NULL, 0, &port), bad, "session is a null pointer");
    expect("output", ms_session_output(NULL, 0, &port), bad, "session is a null pointer");
    expect("plan", ms_session_plan_json(NULL, &json), bad, "session is a null pointer");
    expect("report", ms_session_report_json(NULL, &json), bad, "session is a null pointer");
    require("what failed leaves a text", json == NULL);
    expect("result", ms_result_output(NULL, 0, &tensor), bad, "result is a null pointer");
    require("nothing has inputs", ms_session_input_count(NULL) == 0 && ms_session_output_count(NULL) == 0);
    require("nothing has outputs", ms_result_output_count(NULL) == 0 && ms_result_sequence(NULL) == UINT64_MAX);
    ms_session_free(NULL);
    ms_result_free(NULL);
    ms_string_free(NULL);
}

static void frames(const MsSession *session, const MsTensor good) {
    const MsStatus bad = MS_STATUS_INVALID_ARGUMENT, wrong = MS_STATUS_INVALID_FRAME;
    const size_t flat[] = {8 * 16 * 16}, huge[] = {(size_t)-1, 2};
    MsResult *result;
    MsTensor tensor;
    expect("no inputs", ms_session_run(session, NULL, 1, &result), bad, "inputs is a null pointer");
    expect("no place", ms_session_run(session, &good, 1, NULL), bad, "result is a null pointer");
    expect("too few", ms_session_run(session, NULL, 0, &result), wrong, "0 tensors; the network's inputs are 'image'");
    expect("too many", ms_session_run(session, &good, 1000000, &result), wrong, "1000000 tensors");
    tensor = good, tensor.data = NULL;
    expect("no data", ms_session_run(session, &tensor, 1, &result), bad, "data is a null pointer");
    tensor = good, tensor.dimensions = NULL;
    expect("no dimensions", ms_session_run(session, &tensor, 1, &result), bad, "dimensions is a null pointer");
    tensor = good, tensor.data_type = 77;
    expect("no type", ms_session_run(session, &tensor, 1, &result), bad, "77 is no MsDataType");
    tensor = good, tensor.data_type = MS_DATA_TYPE_I32;
    expect("wrong type", ms_session_run(session, &tensor, 1, &result), wrong, "'image' must be f32 [1, 8, 16, 16]");
    tensor = good, tensor.rank = 1, tensor.dimensions = flat;
    expect("wrong shape", ms_session_run(session, &tensor, 1, &result), wrong, "the frame has f32 [2048]");
    tensor = good, tensor.rank = 2, tensor.dimensions = huge;
    expect("huge", ms_session_run(session, &tensor, 1, &result), bad, "more than any memory");
    tensor = good, tensor.bytes = 12;
    expect("too short", ms_session_run(session, &tensor, 1, &result), bad, "takes 8192 bytes, not 12");
    tensor = good, tensor.name = "picture";
    expect("wrong name", ms_session_submit(session, &tensor, 1, 0, NULL), wrong, "no input 'picture'");
    tensor = good, tensor.name = "\xff";
    expect("no name", ms_session_submit(session, &tensor, 1, 0, NULL), bad, "name is not UTF-8");
}

static void results(const MsSession *session, const MsTensor good) {
    MsResult *result;
    MsTensor tensor;
    MsPort port;
    uint64_t sequence = 7;
    int waiting = 0;
    expect("nothing to receive", ms_session_receive(session, -1, &result), MS_STATUS_END, "");
    require("nothing is a result", result == NULL);
    /* Nobody receives, so at some time there is no room. */
    while (waiting < 100000 && ms_session_submit(session, &good, 1, 1000, NULL) == MS_STATUS_OK) ++waiting;
    expect("no room", ms_session_submit(session, &good, 1, 20, &sequence), MS_STATUS_TIMEOUT, "no room for the frame");
    require("what was not submitted has a number", sequence == 7);
    for (; waiting > 0; --waiting) {
        expect("a result", ms_session_receive(session, -1, &result), MS_STATUS_OK, "");
        ms_result_free(result);
    }
    expect("a frame", ms_session_run(session, &good, 1, &result), MS_STATUS_OK, "");
    expect("the output", ms_result_output(result, 0, &tensor), MS_STATUS_OK, "");
    expect("its port", ms_session_output(session, 0, &port), MS_STATUS_OK, "");
    require("an output has another name", tensor.name != NULL && strcmp(tensor.name, port.name) == 0);
    expect("no such output", ms_result_output(result, 1, &tensor), MS_STATUS_INVALID_ARGUMENT, "no output 1");
    expect("no place", ms_result_output(result, 0, NULL), MS_STATUS_INVALID_ARGUMENT, "output is a null pointer");
    ms_result_free(result);
}

/* The schedule of one session serves another one, which needs no model then. */
static void schedules(const MsSession *session) {
    MsSession *other;
    char *plan = NULL, *report = NULL;
    expect("a plan", ms_session_plan_json(session, &plan), MS_STATUS_OK, "");
    char *options = malloc(strlen(plan) + 32);
    sprintf(options, "{ \"schedule\": %s }", plan);
    expect("another session", ms_session_open(NULL, options, &other), MS_STATUS_OK, "");
    expect("a report", ms_session_report_json(other, &report), MS_STATUS_OK, "");
    require("a report counts frames", strstr(report, "\"frames\": 0") != NULL);
    ms_string_free(plan);
    ms_string_free(report);
    free(options);
    ms_session_free(other);
}

int main(int count, char **arguments) {
    if (count < 3) return EXIT_FAILURE;
    without_a_session(arguments[1]);

    MsSession *session;
    MsPort port;
    expect("a session", ms_session_open(arguments[1], arguments[2], &session), MS_STATUS_OK, "");
    expect("no such input", ms_session_input(session, 1, &port), MS_STATUS_INVALID_ARGUMENT, "no number 1");
    expect("no such output", ms_session_output(session, 9, &port), MS_STATUS_INVALID_ARGUMENT, "no number 9");
    expect("no place", ms_session_input(session, 0, NULL), MS_STATUS_INVALID_ARGUMENT, "input is a null pointer");
    expect("no place", ms_session_plan_json(session, NULL), MS_STATUS_INVALID_ARGUMENT, "json is a null pointer");
    expect("an input", ms_session_input(session, 0, &port), MS_STATUS_OK, "");
    require("the input is image", strcmp(port.name, "image") == 0 && port.rank == 4 && port.dimensions[1] == 8);

    static float elements[8 * 16 * 16];
    const MsTensor good = {NULL, MS_DATA_TYPE_F32, 4, port.dimensions, elements, sizeof elements};
    frames(session, good);
    results(session, good);
    schedules(session);
    ms_session_free(session);
    return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
