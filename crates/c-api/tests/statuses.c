/* What becomes of frames that take long, fail, or are still to come, and of limits that nothing meets; a line for each thing that is wrong.
 *
 *     statuses INDEXED GROWING OPTIONS
 *
 * INDEXED is a network that fails on an index of 9, GROWING one that takes as long as its frame says.
 */
#include <millstream.h>
#include <pthread.h>
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

static MsSession *opened(const char *model, const char *options) {
    MsSession *session = NULL;
    expect(model, ms_session_open(model, options, &session), MS_STATUS_OK, "");
    if (!session) exit(EXIT_FAILURE);
    return session;
}

static uint64_t submit(const MsSession *session, int64_t number) {
    const size_t one[] = {1};
    const MsTensor tensor = {NULL, MS_DATA_TYPE_I64, 1, one, &number, sizeof number};
    uint64_t sequence = UINT64_MAX;
    expect("submitting", ms_session_submit(session, &tensor, 1, -1, &sequence), MS_STATUS_OK, "");
    return sequence;
}

/* Frames have the numbers that they were given, also where one between them fails. */
static void a_frame_that_fails(const MsSession *session) {
    MsResult *result;
    require("frames have other numbers", submit(session, 1) == 0 && submit(session, 9) == 1 && submit(session, 2) == 2);
    for (uint64_t sequence = 0; sequence < 3; ++sequence) {
        if (sequence == 1) {
            expect("a frame that fails", ms_session_receive(session, -1, &result), MS_STATUS_FRAME_FAILED, "frame 1: ");
            require("what failed has a result", result == NULL);
            continue;
        }
        expect("a frame", ms_session_receive(session, -1, &result), MS_STATUS_OK, "");
        require("a result has another number", result && ms_result_sequence(result) == sequence);
        ms_result_free(result);
    }
    expect("no frame", ms_session_receive(session, -1, &result), MS_STATUS_END, "");
}

static void a_frame_that_takes_long(const MsSession *session, int64_t size) {
    MsResult *result;
    submit(session, size);
    expect("a result in time", ms_session_receive(session, 20, &result), MS_STATUS_TIMEOUT, "no result within 20ms");
    require("what did not come has a result", result == NULL);
    expect("the result", ms_session_receive(session, -1, &result), MS_STATUS_OK, "");
    ms_result_free(result);
}

static void *submitting(void *session) {
    for (int64_t number = 0; number < 5; ++number) submit(session, number);
    expect("the end", ms_session_end(session), MS_STATUS_OK, "");
    return NULL;
}

/* Nothing is on its way yet when it is waited for. */
static void frames_to_come(MsSession *session) {
    pthread_t thread;
    MsResult *result;
    MsStatus status;
    int received = 0;
    expect("no frame", ms_session_await(session, 20, &result), MS_STATUS_TIMEOUT, "no result within 20ms");
    if (pthread_create(&thread, NULL, submitting, session) != 0) exit(EXIT_FAILURE);
    while ((status = ms_session_await(session, -1, &result)) == MS_STATUS_OK) {
        ++received;
        ms_result_free(result);
    }
    expect("the end", status, MS_STATUS_END, "");
    require("not all frames were received", received == 5);
    pthread_join(thread, NULL);

    const size_t one[] = {1};
    const int64_t number = 1;
    const MsTensor tensor = {NULL, MS_DATA_TYPE_I64, 1, one, &number, sizeof number};
    expect("after the end", ms_session_submit(session, &tensor, 1, -1, NULL), MS_STATUS_FAILED, "no frames can be submitted");
    expect("after the end", ms_session_run(session, &tensor, 1, &result), MS_STATUS_OK, "");
    ms_result_free(result);
}

int main(int count, char **arguments) {
    if (count < 4) return EXIT_FAILURE;
    MsSession *session = opened(arguments[1], arguments[3]), *none;
    a_frame_that_fails(session);
    frames_to_come(session);
    ms_session_free(session);

    /* What was measured is in the same folder. */
    const char *limit = "{ \"cache_folder\": \"kept\", \"min_throughput\": 9e8 }";
    expect("a limit", ms_session_open(arguments[1], limit, &none), MS_STATUS_INVALID_ARGUMENT, "frames/s");

    session = opened(arguments[2], arguments[3]);
    a_frame_that_takes_long(session, 3000);
    ms_session_free(session);
    return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
