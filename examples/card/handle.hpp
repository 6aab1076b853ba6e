// Handles of warpjit as C++ values, and errors as exceptions.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include <warpjit.h>

// Throws what went wrong.
inline void check(warpjit_status status)
{
    if (status != WARPJIT_OK)
        throw std::runtime_error(std::string(warpjit_status_name(status)) + ": " + warpjit_last_error());
}

struct Free {
    void operator()(void *handle) const { warpjit_free(handle); }
};

// A handle that is freed at the end.
template <typename T> using Handle = std::unique_ptr<T, Free>;

// The handle that a call makes, whose last argument is where it goes: make<warpjit_engine>(warpjit_engine_new, nullptr).
template <typename T, typename Call, typename... Arguments> Handle<T> make(Call call, Arguments... arguments)
{
    T *handle = nullptr;
    check(call(arguments..., &handle));
    return Handle<T>(handle);
}
