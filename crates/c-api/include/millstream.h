/* Millstream: runs ONNX networks on all of a board's processors at once.
 *
 * A session plans for a network on this machine, or takes a schedule, and runs it: frames one by one with ms_session_run, or submitted
 * and received from different threads. Any number of threads may use a session.
 *
 * Functions that can fail return an MsStatus, and ms_last_error tells why. Null pointers are errors, not crashes, and no panic leaves
 * the library. Texts are UTF-8 and end with a zero.
 *
 * Opening a session looks for graphics devices. Where XDG_RUNTIME_DIR is not set, drivers of Mesa's print an error about it on stderr, which
 * means nothing here. The library leaves the environment alone, since other threads may be reading it: a program that wants it quiet
 * sets the variable to a folder before its first thread starts, or names a "board", which is not looked for.
 *
 * This file is made of crates/c-api/src by `cargo xtask snapshots`. */

#ifndef MILLSTREAM_H
#define MILLSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of this header; ms_version tells that of the library. */
#define MILLSTREAM_VERSION_MAJOR 0
#define MILLSTREAM_VERSION_MINOR 1
#define MILLSTREAM_VERSION_PATCH 0
#define MILLSTREAM_VERSION "0.1.0"

/**
 * What became of a call. `ms_last_error` tells more of all but the first two.
 */
enum MsStatus
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It was done.
   */
  MS_STATUS_OK = 0,
  /**
   * There is no frame whose result was not received; nothing is wrong.
   */
  MS_STATUS_END = 1,
  /**
   * What was waited for did not come in time; it may be waited for again.
   */
  MS_STATUS_TIMEOUT = 2,
  /**
   * An argument is a null pointer, no text, or nothing that can be used.
   */
  MS_STATUS_INVALID_ARGUMENT = 3,
  /**
   * A frame has other tensors than the network takes.
   */
  MS_STATUS_INVALID_FRAME = 4,
  /**
   * A file can't be read or written.
   */
  MS_STATUS_FILE_ERROR = 5,
  /**
   * The library of an engine is not there; the message says where it was looked for.
   */
  MS_STATUS_LIBRARY_MISSING = 6,
  /**
   * The frame got lost on its way; the next one is not concerned.
   */
  MS_STATUS_FRAME_FAILED = 7,
  /**
   * Something else went wrong.
   */
  MS_STATUS_FAILED = 8,
  /**
   * A defect of Millstream.
   */
  MS_STATUS_PANICKED = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum MsStatus MsStatus;
#else
typedef int32_t MsStatus;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Types of elements.
 */
enum MsDataType
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The network does not tell.
   */
  MS_DATA_TYPE_UNKNOWN = 0,
  /**
   * float
   */
  MS_DATA_TYPE_F32 = 1,
  /**
   * double
   */
  MS_DATA_TYPE_F64 = 2,
  /**
   * IEEE 754 in two bytes
   */
  MS_DATA_TYPE_F16 = 3,
  /**
   * The upper half of a float
   */
  MS_DATA_TYPE_BF16 = 4,
  /**
   * int8_t
   */
  MS_DATA_TYPE_I8 = 5,
  /**
   * int16_t
   */
  MS_DATA_TYPE_I16 = 6,
  /**
   * int32_t
   */
  MS_DATA_TYPE_I32 = 7,
  /**
   * int64_t
   */
  MS_DATA_TYPE_I64 = 8,
  /**
   * uint8_t
   */
  MS_DATA_TYPE_U8 = 9,
  /**
   * uint16_t
   */
  MS_DATA_TYPE_U16 = 10,
  /**
   * uint32_t
   */
  MS_DATA_TYPE_U32 = 11,
  /**
   * uint64_t
   */
  MS_DATA_TYPE_U64 = 12,
  /**
   * A byte that is 0 or 1
   */
  MS_DATA_TYPE_BOOL = 13,
  /**
   * const char *, each UTF-8 that ends with a zero
   */
  MS_DATA_TYPE_STRING = 14,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum MsDataType MsDataType;
#else
typedef int32_t MsDataType;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The outputs of a frame.
 */
typedef struct MsResult MsResult;

/**
 * A network that runs on this machine.
 */
typedef struct MsSession MsSession;

/**
 * An input or output of a network. Its pointers stay valid until the session is freed.
 */
typedef struct {
  /**
   * Its name.
   */
  const char *name;
  /**
   * An MsDataType.
   */
  int32_t data_type;
  /**
   * How many dimensions it has; -1 if the network does not tell.
   */
  int32_t rank;
  /**
   * As many sizes as it has dimensions, the outermost first.
   */
  const size_t *dimensions;
} MsPort;

/**
 * A tensor, which is looked at where it is. Elements are dense, the last dimension innermost, in the byte order of the
 * machine.
 *
 * As an input it is the caller's: whatever it points at is copied before the call returns. As an output it belongs to
 * its result, must not be written to, and is valid until that is freed.
 */
typedef struct {
  /**
   * The input or output that it is for. Inputs may leave it out (null): then they are in the order of the network's.
   */
  const char *name;
  /**
   * An MsDataType.
   */
  int32_t data_type;
  /**
   * How many dimensions it has.
   */
  size_t rank;
  /**
   * As many sizes as it has dimensions, the outermost first.
   */
  const size_t *dimensions;
  /**
   * The elements.
   */
  const void *data;
  /**
   * How many bytes they have; of strings, those of the pointers.
   */
  size_t bytes;
} MsTensor;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of this library, such as "0.1.0". It is never freed.
 */
const char *ms_version(void);

/**
 * Why the last call on this thread failed that did; an empty text before. It stays where it is until the next failure
 * on this thread or the thread's end, and is never freed.
 */
const char *ms_last_error(void);

/**
 * Frees a text that a function of this library gave away. Does nothing with a null pointer.
 */
void ms_string_free(char *string);

/**
 * Opens a session and puts it into `session`: measures the network if nobody did before, which takes about 20 s, finds
 * the best schedule for an objective, tries it out, and starts it.
 *
 * `model` is the path of an ONNX file, or zoo:NAME for a built-in network; it may be null if there is a schedule.
 * `options` is null or a JSON object, in which all of these may be left out:
 *
 * - "objective": "throughput", "latency", "balanced" or "energy"; "max_latency", "min_throughput", "max_power": what
 *   the schedule must keep to, in seconds, frames per second and watts; "margin": by what part predictions must be
 *   better than that, 0.1 for a tenth
 * - "schedule": the path of a schedule, or what stands in one, as ms_session_plan_json returns it; then nothing is
 *   planned
 * - "profile", "costs": the path of a profile, or that of cost models or the name of a built-in board, to plan on
 *   without measuring or trying anything
 * - "fresh": true to measure even if the network was measured before; "profile_seconds": time to measure, where that
 *   is done
 * - "dimensions": sizes of open dimensions by name, or by input and position such as image.2; "batch": that of an open
 *   first one
 * - "inputs": a list of files with frames to measure and try with, each as FILE or NAME=FILE: .npy, .npz, PNG or JPEG
 *   files, or folders of them; made-up frames by default, which some networks refuse
 * - "board": a board file, or the name of a built-in board, if it is not the whole machine; "engine": "onnxruntime",
 *   "openvino" (with less precision "openvinoint8", "openvinof16", "openvinobf16"), several with commas between them,
 *   or "all" (openvino only if it is installed); "cache_folder": where profiles and optimised sessions are kept
 * - "frames_in_flight": frames in the pipeline at most; "frames_outstanding": frames at most whose results were not
 *   received, 16 for each replica by default; "frame_timeout": how many seconds a stage may work on a frame, which
 *   fails then
 *
 * A process that is forked off can't use the sessions of its parent.
 */
MsStatus ms_session_open(const char *model,
                         const char *options,
                         MsSession **session);

/**
 * Ends and frees a session; frames on their way are dropped. No other thread may be using it. Does nothing with a null
 * pointer.
 */
void ms_session_free(MsSession *session);

/**
 * How many inputs the network has; 0 for a null pointer.
 */
size_t ms_session_input_count(const MsSession *session);

/**
 * How many outputs the network has; 0 for a null pointer.
 */
size_t ms_session_output_count(const MsSession *session);

/**
 * Shows name, type and shape of an input. What it points at is valid until the session is freed.
 */
MsStatus ms_session_input(const MsSession *session, size_t index, MsPort *input);

/**
 * Shows name, type and shape of an output. What it points at is valid until the session is freed.
 */
MsStatus ms_session_output(const MsSession *session, size_t index, MsPort *output);

/**
 * Runs one frame, a tensor for each input of the network, and puts its outputs into `result`.
 */
MsStatus ms_session_run(const MsSession *session,
                        const MsTensor *inputs,
                        size_t input_count,
                        MsResult **result);

/**
 * The schedule, as it stands in a file. Free it with ms_string_free.
 */
MsStatus ms_session_plan_json(const MsSession *session, char **json);

/**
 * What was measured so far, times in seconds. Free it with ms_string_free.
 */
MsStatus ms_session_report_json(const MsSession *session, char **json);

/**
 * Submits a frame, and puts its number into `sequence` unless that is null. Waits while there is no room, for
 * `timeout_ms` milliseconds at most, or as long as it takes if that is negative; results must be received meanwhile,
 * by this thread or another one.
 */
MsStatus ms_session_submit(const MsSession *session,
                           const MsTensor *inputs,
                           size_t input_count,
                           int64_t timeout_ms,
                           uint64_t *sequence);

/**
 * Tells that no more frames will be submitted: ms_session_await returns MS_STATUS_END once the results of those before
 * were received, and ms_session_submit fails from now on. ms_session_run goes on.
 */
MsStatus ms_session_end(const MsSession *session);

/**
 * Puts the outputs of the next frame that was submitted into `result`, in order. Waits for them as ms_session_submit
 * does. MS_STATUS_END if there is no frame whose result was not received; MS_STATUS_FRAME_FAILED if this one got lost,
 * and then the next call is about the next frame. `result` is null unless there is one.
 */
MsStatus ms_session_receive(const MsSession *session,
                            int64_t timeout_ms,
                            MsResult **result);

/**
 * The same for a thread that receives what another one submits: while no frame is on its way, the next one is waited
 * for as well, and MS_STATUS_END is the end that ms_session_end told.
 */
MsStatus ms_session_await(const MsSession *session,
                          int64_t timeout_ms,
                          MsResult **result);

/**
 * How many outputs a result has: as many as the network. 0 for a null pointer.
 */
size_t ms_result_output_count(const MsResult *result);

/**
 * Shows an output of a result, in the order of the network's. It is valid until the result is freed.
 */
MsStatus ms_result_output(const MsResult *result, size_t index, MsTensor *output);

/**
 * The number that ms_session_submit gave the frame; UINT64_MAX for a null pointer.
 */
uint64_t ms_result_sequence(const MsResult *result);

/**
 * Frees a result and all that it shows. Does nothing with a null pointer.
 */
void ms_result_free(MsResult *result);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MILLSTREAM_H */
