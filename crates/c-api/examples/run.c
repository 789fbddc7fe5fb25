/* Runs one frame through a network.
 *
 *     run MODEL INPUT OUTPUT [OPTIONS]
 *
 * INPUT has the elements of the network's first input, one after another as memory has them; those of all outputs are written to OUTPUT.
 * OPTIONS are those of ms_session_open, such as '{ "objective": "latency" }'.
 *
 *     cc run.c $(pkg-config --cflags --libs millstream) -o run
 */
#include <millstream.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, ms_last_error());
    return EXIT_FAILURE;
}

/* The file's bytes, to be freed, or null. */
static void *read_file(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *content = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        rewind(file);
        content = size > 0 ? malloc((size_t)size) : NULL;
        *bytes = content ? fread(content, 1, (size_t)size, file) : 0;
    }
    fclose(file);
    return content;
}

static void print(const char *kind, const char *name, int32_t data_type, size_t rank, const size_t *dimensions) {
    printf("%s %s: type %d, [", kind, name, (int)data_type);
    for (size_t axis = 0; axis < rank; ++axis) printf(axis ? ", %zu" : "%zu", dimensions[axis]);
    printf("]\n");
}

static int write_outputs(const MsResult *result, const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file) return 0;
    int is_written = 1;
    for (size_t index = 0; index < ms_result_output_count(result); ++index) {
        MsTensor output;
        if (ms_result_output(result, index, &output) != MS_STATUS_OK) {
            is_written = 0;
            break;
        }
        print("output", output.name, output.data_type, output.rank, output.dimensions);
        is_written &= fwrite(output.data, 1, output.bytes, file) == output.bytes;
    }
    return (fclose(file) == 0) & is_written;
}

int main(int count, char **arguments) {
    if (count < 4) {
        fprintf(stderr, "usage: run MODEL INPUT OUTPUT [OPTIONS]\n");
        return EXIT_FAILURE;
    }
    MsSession *session;
    if (ms_session_open(arguments[1], count > 4 ? arguments[4] : NULL, &session) != MS_STATUS_OK) {
        return fail("no session");
    }
    int code = EXIT_FAILURE;
    MsResult *result = NULL;
    MsPort port;
    MsTensor input = {0};
    void *elements = read_file(arguments[2], &input.bytes);
    if (!elements) {
        fprintf(stderr, "%s can't be read\n", arguments[2]);
    } else if (ms_session_input(session, 0, &port) != MS_STATUS_OK) {
        fail("no input");
    } else if (port.rank < 0) {
        fprintf(stderr, "the network does not tell the shape of its input '%s'\n", port.name);
    } else {
        print("input", port.name, port.data_type, (size_t)port.rank, port.dimensions);
        input.data_type = port.data_type;
        input.rank = (size_t)port.rank;
        input.dimensions = port.dimensions;
        input.data = elements;
        if (ms_session_run(session, &input, 1, &result) != MS_STATUS_OK) {
            fail("no result");
        } else if (write_outputs(result, arguments[3])) {
            code = EXIT_SUCCESS;
        } else {
            fprintf(stderr, "%s can't be written\n", arguments[3]);
        }
    }
    free(elements);
    ms_result_free(result);
    ms_session_free(session);
    return code;
}
