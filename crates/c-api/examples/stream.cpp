// Streams frames through a network: one thread submits them, another one receives the results, in order.
//
//     stream MODEL INPUT OUTPUT [OPTIONS]
//
// INPUT has the elements of the network's first input for one frame after another; the outputs of each frame are written to OUTPUT.
//
//     c++ -std=c++17 -pthread stream.cpp $(pkg-config --cflags --libs millstream) -o stream

#include <millstream.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Free {
    void operator()(MsSession *session) const { ms_session_free(session); }
    void operator()(MsResult *result) const { ms_result_free(result); }
    void operator()(char *text) const { ms_string_free(text); }
};

template <typename Handle> using Owned = std::unique_ptr<Handle, Free>;

void check(MsStatus status) {
    if (status != MS_STATUS_OK) throw std::runtime_error(ms_last_error());
}

Owned<MsSession> open(const char *model, const char *options) {
    MsSession *session = nullptr;
    check(ms_session_open(model, options, &session));
    return Owned<MsSession>(session);
}

// The next result; none if all were received, and no more frames will come.
Owned<MsResult> receive(const MsSession &session) {
    MsResult *result = nullptr;
    const MsStatus status = ms_session_await(&session, -1, &result);
    if (status == MS_STATUS_END) return nullptr;
    check(status);
    return Owned<MsResult>(result);
}

std::size_t elements(const MsPort &port) {
    std::size_t product = 1;
    for (int axis = 0; axis < port.rank; ++axis) product *= port.dimensions[axis];
    return product;
}

void write(const MsResult &result, std::ostream &file) {
    for (std::size_t index = 0; index < ms_result_output_count(&result); ++index) {
        MsTensor output;
        check(ms_result_output(&result, index, &output));
        file.write(static_cast<const char *>(output.data), static_cast<std::streamsize>(output.bytes));
    }
}

void run(const char *model, const char *input, const char *output, const char *options) {
    std::ifstream source(input, std::ios::binary);
    const std::vector<char> all{std::istreambuf_iterator<char>(source), std::istreambuf_iterator<char>()};
    if (!source) throw std::runtime_error(std::string(input) + " can't be read");
    std::ofstream file(output, std::ios::binary);
    const auto session = open(model, options);

    MsPort port;
    check(ms_session_input(session.get(), 0, &port));
    if (port.rank < 0) throw std::runtime_error("the network does not tell the shape of its first input");
    if (port.data_type != MS_DATA_TYPE_F32) throw std::runtime_error("the first input has no floats");
    const std::size_t bytes = elements(port) * sizeof(float);
    if (bytes == 0) throw std::runtime_error("the first input has no elements");
    const std::size_t frames = all.size() / bytes;

    // Without room for a frame, it is looked now and then whether anybody still receives.
    constexpr std::int64_t look_ms = 100;
    std::atomic<bool> is_given_up{false};
    std::string failure;
    std::thread submitting([&] {
        for (std::size_t frame = 0; frame < frames && failure.empty() && !is_given_up; ++frame) {
            const auto rank = static_cast<std::size_t>(port.rank);
            const MsTensor tensor{port.name, port.data_type, rank, port.dimensions, &all[frame * bytes], bytes};
            MsStatus status;
            do {
                status = ms_session_submit(session.get(), &tensor, 1, look_ms, nullptr);
            } while (status == MS_STATUS_TIMEOUT && !is_given_up);
            // A thread's errors are its own, so it hands its own on.
            if (status != MS_STATUS_OK) failure = ms_last_error();
        }
        ms_session_end(session.get());
    });
    try {
        std::uint64_t received = 0;
        while (const auto result = receive(*session)) {
            if (ms_result_sequence(result.get()) != received++) throw std::runtime_error("a result is not in order");
            write(*result, file);
        }
    } catch (...) {
        is_given_up = true;
        submitting.join();
        throw;
    }
    submitting.join();
    if (!failure.empty()) throw std::runtime_error(failure);

    char *text = nullptr;
    check(ms_session_report_json(session.get(), &text));
    const Owned<char> report(text);
    std::cout << report.get() << "\n";
    file.close();
    if (!file) throw std::runtime_error(std::string(output) + " can't be written");
}

}  // namespace

int main(int count, char **arguments) {
    if (count < 4) {
        std::cerr << "usage: stream MODEL INPUT OUTPUT [OPTIONS]\n";
        return 1;
    }
    try {
        run(arguments[1], arguments[2], arguments[3], count > 4 ? arguments[4] : nullptr);
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
