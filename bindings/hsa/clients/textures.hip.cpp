// Textures and surfaces: points and linear filters, all ways to treat coordinates outside, linear memory, pitched memory, arrays of one
// to three dimensions and of layers.
#include <hip/hip_runtime.h>

#include "check.hpp"

__global__ void read_2d(hipTextureObject_t texture, const float2 *where, float4 *out, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) out[at] = tex2D<float4>(texture, where[at].x, where[at].y);
}

__global__ void read_2d_one(hipTextureObject_t texture, const float2 *where, float *out, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) out[at] = tex2D<float>(texture, where[at].x, where[at].y);
}

__global__ void read_2d_bytes(hipTextureObject_t texture, uchar4 *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height) out[y * width + x] = tex2D<uchar4>(texture, x, y);
}

__global__ void fetch_1d(hipTextureObject_t texture, int *out, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) out[at] = tex1Dfetch<int>(texture, count - 1 - at);
}

__global__ void read_3d(hipTextureObject_t texture, float *out, int width, int height, int depth) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= width * height * depth) return;
    out[at] = tex3D<float>(texture, at % width + 0.5f, at / width % height + 0.5f, at / width / height + 0.5f);
}

__global__ void read_layers(hipTextureObject_t texture, float *out, int width, int height, int layers) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= width * height * layers) return;
    out[at] = tex2DLayered<float>(texture, at % width + 0.5f, at / width % height + 0.5f, at / width / height);
}

__global__ void write_surface(hipSurfaceObject_t surface, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width || y >= height) return;
    float4 value;
    surf2Dread(&value, surface, x * int(sizeof(float4)), y);
    value.x += 1.0f;
    value.w = x * 1000.0f + y;
    surf2Dwrite(value, surface, x * int(sizeof(float4)), y);
}

// Coordinate `at` of a texture with `size` texels by the rule `mode`; -1 is the border.
static int texel(int at, int size, hipTextureAddressMode mode) {
    if (mode == hipAddressModeClamp) return at < 0 ? 0 : at >= size ? size - 1 : at;
    if (mode == hipAddressModeWrap) return (at % size + size) % size;
    if (mode == hipAddressModeMirror) {
        int turn = (at % (2 * size) + 2 * size) % (2 * size);
        return turn < size ? turn : 2 * size - 1 - turn;
    }
    return at < 0 || at >= size ? -1 : at;
}

template <class T> static hipArray_t array_2d(const std::vector<T> &values, int width, int height, unsigned flags = 0) {
    hipChannelFormatDesc format = hipCreateChannelDesc<T>();
    hipArray_t array;
    CHECK(hipMallocArray(&array, &format, width, height, flags));
    CHECK(hipMemcpy2DToArray(array, 0, 0, values.data(), width * sizeof(T), width * sizeof(T), height, hipMemcpyHostToDevice));
    return array;
}

static hipTextureObject_t texture_of(const hipResourceDesc &resource, hipTextureAddressMode address, hipTextureFilterMode filter,
                                     bool normalized, hipTextureReadMode mode) {
    hipTextureDesc description;
    std::memset(&description, 0, sizeof description);
    for (auto &way : description.addressMode) way = address;
    description.filterMode = filter;
    description.readMode = mode;
    description.normalizedCoords = normalized;
    hipTextureObject_t texture;
    CHECK(hipCreateTextureObject(&texture, &resource, &description, nullptr));
    return texture;
}

template <class T> static std::vector<T> read(const T *card, size_t count) {
    std::vector<T> values(count);
    CHECK(hipMemcpy(values.data(), card, count * sizeof(T), hipMemcpyDeviceToHost));
    return values;
}

int main() {
    int supported = 0;
    CHECK(hipDeviceGetAttribute(&supported, hipDeviceAttributeMaxTexture2DWidth, 0));
    holds("textures of 4096 texels", supported >= 4096);
    Numbers source(5);
    const int width = 37, height = 19, points = 3000;
    std::vector<float> plane(width * height);
    for (auto &value : plane) value = source.unit() * 8 - 4;
    hipArray_t array = array_2d(plane, width, height);
    hipResourceDesc resource;
    std::memset(&resource, 0, sizeof resource);
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = array;
    std::vector<float2> where(points);
    for (auto &place : where) place = {source.unit() * 3 * width - width, source.unit() * 3 * height - height};
    float2 *card_where;
    float *card_out;
    CHECK(hipMalloc(&card_where, points * sizeof(float2)));
    CHECK(hipMalloc(&card_out, points * sizeof(float4)));
    const char *names[] = {"wrap", "clamp", "mirror", "border"};
    for (auto address : {hipAddressModeWrap, hipAddressModeClamp, hipAddressModeMirror, hipAddressModeBorder})
        for (auto filter : {hipFilterModePoint, hipFilterModeLinear}) {
            bool normalized = address == hipAddressModeWrap || address == hipAddressModeMirror;
            auto places = where;
            if (normalized)
                for (auto &place : places) place = {place.x / width, place.y / height};
            CHECK(hipMemcpy(card_where, places.data(), points * sizeof(float2), hipMemcpyHostToDevice));
            auto texture = texture_of(resource, address, filter, normalized, hipReadModeElementType);
            read_2d_one<<<(points + 127) / 128, 128>>>(texture, card_where, card_out, points);
            auto got = read(card_out, points);
            CHECK(hipDestroyTextureObject(texture));
            std::string name = std::string("2D, ") + names[address] + (filter == hipFilterModePoint ? ", point" : ", linear");
            auto at = [&](int x, int y) {
                int column = texel(x, width, address), row = texel(y, height, address);
                return column < 0 || row < 0 ? 0.0f : plane[row * width + column];
            };
            int wrong = 0;
            checks_made++;
            for (int point = 0; point < points; point++) {
                float x = normalized ? places[point].x * width : places[point].x, y = normalized ? places[point].y * height : places[point].y;
                float want, allowed;
                if (filter == hipFilterModePoint) {
                    // Cards round coordinates to a small fraction of a texel: those next to a border may be either side's.
                    float fx = x - std::floor(x), fy = y - std::floor(y);
                    if (fx < 0.01f || fx > 0.99f || fy < 0.01f || fy > 0.99f) continue;
                    want = at(int(std::floor(x)), int(std::floor(y)));
                    allowed = 0;
                } else {
                    float left = std::floor(x - 0.5f), top = std::floor(y - 0.5f), fx = x - 0.5f - left, fy = y - 0.5f - top;
                    int column = int(left), row = int(top);
                    want = (at(column, row) * (1 - fx) + at(column + 1, row) * fx) * (1 - fy) +
                           (at(column, row + 1) * (1 - fx) + at(column + 1, row + 1) * fx) * fy;
                    allowed = 8.0f * 2 / 128;
                }
                if (!(std::fabs(got[point] - want) <= allowed) && wrong++ == 0)
                    differs(name, "(" + shown(x) + ", " + shown(y) + ") is " + shown(got[point]) + " instead of " + shown(want));
            }
        }

    // Four floats in a texel, and four bytes as numbers from 0 to 1.
    std::vector<float4> wide(width * height);
    for (auto &value : wide) value = {source.unit(), source.unit(), source.unit(), source.unit()};
    hipArray_t wide_array = array_2d(wide, width, height, hipArraySurfaceLoadStore);
    resource.res.array.array = wide_array;
    std::vector<uchar4> bytes(width * height);
    for (auto &value : bytes) value = {(unsigned char)source.next(), (unsigned char)source.next(), (unsigned char)source.next(), 255};
    std::vector<float2> centers(width * height);
    std::vector<float> wide_want, bytes_want;
    for (int at = 0; at < width * height; at++) {
        centers[at] = {at % width + 0.5f, at / width + 0.5f};
        for (float part : {wide[at].x, wide[at].y, wide[at].z, wide[at].w}) wide_want.push_back(part);
        for (int part : {bytes[at].x, bytes[at].y, bytes[at].z, bytes[at].w}) bytes_want.push_back(part / 255.0f);
    }
    CHECK(hipMemcpy(card_where, centers.data(), centers.size() * sizeof(float2), hipMemcpyHostToDevice));
    auto texture = texture_of(resource, hipAddressModeClamp, hipFilterModePoint, false, hipReadModeElementType);
    read_2d<<<(width * height + 127) / 128, 128>>>(texture, card_where, (float4 *)card_out, width * height);
    same("float4", read(card_out, width * height * 4), wide_want);
    CHECK(hipDestroyTextureObject(texture));
    hipArray_t byte_array = array_2d(bytes, width, height);
    resource.res.array.array = byte_array;
    texture = texture_of(resource, hipAddressModeClamp, hipFilterModePoint, false, hipReadModeNormalizedFloat);
    read_2d<<<(width * height + 127) / 128, 128>>>(texture, card_where, (float4 *)card_out, width * height);
    near("uchar4 as floats", read(card_out, width * height * 4), bytes_want, 1e-6);
    CHECK(hipDestroyTextureObject(texture));

    // Pitched memory.
    size_t pitch;
    uchar4 *pitched, *card_bytes;
    CHECK(hipMallocPitch((void **)&pitched, &pitch, width * sizeof(uchar4), height));
    CHECK(hipMemcpy2D(pitched, pitch, bytes.data(), width * sizeof(uchar4), width * sizeof(uchar4), height, hipMemcpyHostToDevice));
    CHECK(hipMalloc(&card_bytes, width * height * sizeof(uchar4)));
    hipResourceDesc pitched_resource;
    std::memset(&pitched_resource, 0, sizeof pitched_resource);
    pitched_resource.resType = hipResourceTypePitch2D;
    pitched_resource.res.pitch2D.devPtr = pitched;
    pitched_resource.res.pitch2D.desc = hipCreateChannelDesc<uchar4>();
    pitched_resource.res.pitch2D.width = width;
    pitched_resource.res.pitch2D.height = height;
    pitched_resource.res.pitch2D.pitchInBytes = pitch;
    texture = texture_of(pitched_resource, hipAddressModeClamp, hipFilterModePoint, false, hipReadModeElementType);
    read_2d_bytes<<<dim3(1, height), 64>>>(texture, card_bytes, width, height);
    auto got_bytes = read((unsigned char *)card_bytes, width * height * 4);
    same("pitched memory", got_bytes, std::vector<unsigned char>((unsigned char *)bytes.data(), (unsigned char *)bytes.data() + width * height * 4));
    CHECK(hipDestroyTextureObject(texture));

    // Linear memory.
    const int count = 5000;
    std::vector<int> line(count), backwards(count);
    for (int at = 0; at < count; at++) line[at] = backwards[count - 1 - at] = int(source.next());
    int *card_line, *card_back;
    CHECK(hipMalloc(&card_line, count * sizeof(int)));
    CHECK(hipMalloc(&card_back, count * sizeof(int)));
    CHECK(hipMemcpy(card_line, line.data(), count * sizeof(int), hipMemcpyHostToDevice));
    hipResourceDesc linear;
    std::memset(&linear, 0, sizeof linear);
    linear.resType = hipResourceTypeLinear;
    linear.res.linear.devPtr = card_line;
    linear.res.linear.desc = hipCreateChannelDesc<int>();
    linear.res.linear.sizeInBytes = count * sizeof(int);
    texture = texture_of(linear, hipAddressModeClamp, hipFilterModePoint, false, hipReadModeElementType);
    fetch_1d<<<(count + 63) / 64, 64>>>(texture, card_back, count);
    same("linear memory", read(card_back, count), backwards);
    CHECK(hipDestroyTextureObject(texture));

    // Three dimensions, and layers.
    const int deep = 5, many = width * height * deep;
    std::vector<float> solid(many);
    for (auto &value : solid) value = source.unit();
    float *card_solid;
    CHECK(hipMalloc(&card_solid, many * sizeof(float)));
    for (bool layered : {false, true}) {
        hipChannelFormatDesc format = hipCreateChannelDesc<float>();
        hipArray_t solid_array;
        CHECK(hipMalloc3DArray(&solid_array, &format, make_hipExtent(width, height, deep), layered ? hipArrayLayered : hipArrayDefault));
        hipMemcpy3DParms copy;
        std::memset(&copy, 0, sizeof copy);
        copy.srcPtr = make_hipPitchedPtr(solid.data(), width * sizeof(float), width, height);
        copy.dstArray = solid_array;
        copy.extent = make_hipExtent(width, height, deep);
        copy.kind = hipMemcpyHostToDevice;
        CHECK(hipMemcpy3D(&copy));
        resource.res.array.array = solid_array;
        texture = texture_of(resource, hipAddressModeClamp, hipFilterModePoint, false, hipReadModeElementType);
        if (layered) read_layers<<<(many + 127) / 128, 128>>>(texture, card_solid, width, height, deep);
        else read_3d<<<(many + 127) / 128, 128>>>(texture, card_solid, width, height, deep);
        same(layered ? "layers" : "3D", read(card_solid, many), solid);
        CHECK(hipDestroyTextureObject(texture));
        CHECK(hipFreeArray(solid_array));
    }

    // A surface is read and written, and copied back.
    resource.res.array.array = wide_array;
    hipSurfaceObject_t surface;
    CHECK(hipCreateSurfaceObject(&surface, &resource));
    write_surface<<<dim3(1, height), 64>>>(surface, width, height);
    CHECK(hipDeviceSynchronize());
    CHECK(hipDestroySurfaceObject(surface));
    std::vector<float> back(width * height * 4);
    CHECK(hipMemcpy2DFromArray(back.data(), width * sizeof(float4), wide_array, 0, 0, width * sizeof(float4), height, hipMemcpyDeviceToHost));
    for (int at = 0; at < width * height; at++) {
        wide_want[at * 4] += 1.0f;
        wide_want[at * 4 + 3] = at % width * 1000.0f + at / width;
    }
    same("surface", back, wide_want);
    CHECK(hipFreeArray(array));
    CHECK(hipFreeArray(byte_array));
    CHECK(hipFreeArray(wide_array));
    return report();
}
