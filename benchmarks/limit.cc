// The limit: the mathematics of the wide-and-deep step in plain loops, from CSV text or from ids.
//
// Adagrad on the deep part, Ftrl on the wide part (both with accumulators that start at 0.1), loss
// averaged over the batch, rows in a shuffled order. Words are hashed by another function than
// TensorFlow's, into as many buckets. The batch is split over the threads, their gradients summed.
//
//   limit SPEC CSV text|ids BATCH STEPS THREADS     (SPEC as limit.py writes it)
//
// text: lines are parsed anew for every batch; ids: parsed once, before the clock starts.
// Prints: examples a second, the loss of the last batch.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

constexpr float kInitialAccumulator = 0.1f;

// Vectors as wide as the processor's; a tile of 6 rows by 2 vectors stays in its registers.
#ifdef __AVX512F__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4)));
constexpr int kTile = 2 * kLanes;

int Padded(int width) { return (width + kTile - 1) / kTile * kTile; }

template <int kRows>
void MultiplyTile(int depth, const float* a, size_t row_step, size_t step, const float* b,
                  size_t b_width, float* c, size_t c_width, bool add) {
  Vector sums[kRows][2];
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < 2; ++v) {
      sums[i][v] = add ? *reinterpret_cast<const Vector*>(c + i * c_width + v * kLanes) : Vector{};
    }
  }
  for (int k = 0; k < depth; ++k) {
    Vector b0 = *reinterpret_cast<const Vector*>(b + k * b_width);
    Vector b1 = *reinterpret_cast<const Vector*>(b + k * b_width + kLanes);
    for (int i = 0; i < kRows; ++i) {
      float value = a[i * row_step + k * step];
      sums[i][0] += value * b0;
      sums[i][1] += value * b1;
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < 2; ++v) {
      *reinterpret_cast<Vector*>(c + i * c_width + v * kLanes) = sums[i][v];
    }
  }
}

// c [rows, width] = (add ? c : 0) + a [rows, depth] b [depth, width]; the element i, k of a is at
// a[i * row_step + k * step]; width, the rows' length of b and of c, is a multiple of kTile.
void Multiply(int rows, int depth, int width, const float* a, size_t row_step, size_t step,
              const float* b, float* c, bool add) {
  for (int j = 0; j < width; j += kTile) {
    int i = 0;
    for (; i + 6 <= rows; i += 6) {
      MultiplyTile<6>(depth, a + i * row_step, row_step, step, b + j, width, c + i * width + j,
                      width, add);
    }
    for (; i < rows; ++i) {
      MultiplyTile<1>(depth, a + i * row_step, row_step, step, b + j, width, c + i * width + j,
                      width, add);
    }
  }
}

uint64_t Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ull ^ text.size();
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ull;
  return hash ^ (hash >> 29);
}

struct Column {
  std::string kind;  // unused, number, words, hash, identity
  bool wide = false;
  int deep = 0;
  float default_value = 0, shift = 0, scale = 1;
  bool log = false;
  Floats edges;
  std::unordered_map<uint64_t, int> words;
  int size = 0;
  int wide_offset = 0, one_hot_offset = 0, table = -1, number = -1;
};

struct Cross {
  Ints columns;
  int size = 0, wide_offset = 0;
};

struct Table {
  int rows = 0, dimension = 0, place = 0;  // place: first input of the dense layer that it fills
};

struct Spec {
  Ints hidden;
  float rate = 0, linear_rate = 0;
  bool is_regression = false;
  int label = 0, skipped_lines = 0;
  std::string positive;
  std::vector<Column> columns;
  std::vector<Cross> crosses;
  std::vector<Table> tables;
  int num_numbers = 0, num_dense = 0, num_wide = 0, num_one_hot = 0;
  int wide_size = 0, one_hot_size = 0;

  explicit Spec(const char* path) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) ReadLine(line);
    Place();
  }

  static std::vector<std::string> Cut(const std::string& line) {
    std::vector<std::string> parts;
    std::stringstream stream(line);
    for (std::string part; std::getline(stream, part, '\t');) parts.push_back(part);
    return parts;
  }

  void ReadLine(const std::string& line) {
    auto parts = Cut(line);
    const std::string& what = parts[0];
    auto number = [&](size_t i) { return std::stof(parts[i]); };
    if (what == "hidden") {
      for (size_t i = 1; i < parts.size(); ++i) hidden.push_back(std::stoi(parts[i]));
    } else if (what == "rates") {
      rate = number(1), linear_rate = number(2);
    } else if (what == "label") {
      label = std::stoi(parts[1]), skipped_lines = std::stoi(parts[2]);
      is_regression = parts.size() < 4;
      if (!is_regression) positive = parts[3];
    } else if (what == "cross") {
      Cross cross;
      cross.size = std::stoi(parts[1]);
      for (size_t i = 2; i < parts.size(); ++i) cross.columns.push_back(std::stoi(parts[i]));
      crosses.push_back(cross);
    } else {
      Column column;
      column.kind = what;
      if (what != "unused") column.wide = number(1) != 0, column.deep = std::stoi(parts[2]);
      if (what == "number") {
        column.default_value = number(3), column.log = number(4) != 0;
        column.shift = number(5), column.scale = number(6);
        for (size_t i = 7; i < parts.size(); ++i) column.edges.push_back(number(i));
        column.size = column.edges.size() + 1;
      } else if (what == "words") {
        for (size_t i = 3; i < parts.size(); ++i) column.words[Hash(parts[i])] = i - 3;
        column.size = parts.size() - 3 + 1;
      } else if (what != "unused") {
        column.size = std::stoi(parts[3]);
      }
      columns.push_back(column);
    }
  }

  void Place() {
    for (auto& column : columns) {
      if (column.wide) column.wide_offset = wide_size, wide_size += column.size, ++num_wide;
      if (column.kind == "number" && column.deep) column.number = num_numbers++;
      if (column.kind != "number" && column.deep == 1) {
        column.one_hot_offset = one_hot_size, one_hot_size += column.size, ++num_one_hot;
      }
    }
    num_dense = num_numbers;
    for (auto& column : columns) {
      if (column.deep > 1) {
        column.table = tables.size();
        tables.push_back({column.size, column.deep, num_dense});
        num_dense += column.deep;
      }
    }
    for (auto& cross : crosses) cross.wide_offset = wide_size, wide_size += cross.size, ++num_wide;
  }
};

// One batch, or one thread's share of it, as ids and numbers.
struct Rows {
  Ints wide, one_hot, embedded;
  Floats numbers, labels;
  explicit Rows(const Spec& spec, size_t rows = 0)
      : wide(rows * spec.num_wide),
        one_hot(rows * spec.num_one_hot),
        embedded(rows * spec.tables.size()),
        numbers(rows * spec.num_numbers),
        labels(rows) {}
};

void Parse(const Spec& spec, const char* line, const char* end, Rows& rows, size_t row) {
  std::string_view fields[64];
  int count = 0;
  for (const char* at = line; at <= end && count < 64;) {
    const char* comma = static_cast<const char*>(memchr(at, ',', end - at));
    if (!comma) comma = end;
    fields[count++] = {at, static_cast<size_t>(comma - at)};
    at = comma + 1;
  }
  int32_t* wide = &rows.wide[row * spec.num_wide];
  int32_t* one_hot = rows.one_hot.data() + row * spec.num_one_hot;
  int32_t* embedded = rows.embedded.data() + row * spec.tables.size();
  float* numbers = rows.numbers.data() + row * spec.num_numbers;
  uint64_t codes[64];
  for (size_t i = 0; i < spec.columns.size(); ++i) {
    const Column& column = spec.columns[i];
    std::string_view text = fields[i];
    if (column.kind[0] == 'u') {
      if (static_cast<int>(i) == spec.label) {
        if (spec.is_regression) {
          std::from_chars(text.data(), text.data() + text.size(), rows.labels[row]);
        } else {
          rows.labels[row] = text == spec.positive;
        }
      }
      continue;
    }
    int id = 0;
    if (column.kind[0] == 'n') {
      float value = column.default_value;
      std::from_chars(text.data(), text.data() + text.size(), value);
      id = std::upper_bound(column.edges.begin(), column.edges.end(), value) - column.edges.begin();
      codes[i] = id;
      if (column.deep) {
        numbers[column.number] = column.log ? std::copysign(std::log1p(std::fabs(value)), value)
                                            : (value - column.shift) / column.scale;
      }
    } else {
      codes[i] = Hash(text);
      if (column.kind[0] == 'w') {
        auto found = column.words.find(codes[i]);
        id = found == column.words.end() ? column.size - 1 : found->second;
      } else if (column.kind[0] == 'i') {
        std::from_chars(text.data(), text.data() + text.size(), id);
      } else {
        id = codes[i] % column.size;
      }
      if (column.deep == 1) *one_hot++ = column.one_hot_offset + id;
      if (column.deep > 1) embedded[column.table] = id;
    }
    if (column.wide) *wide++ = column.wide_offset + id;
  }
  for (const Cross& cross : spec.crosses) {
    uint64_t mixed = 0;
    for (int column : cross.columns) {
      mixed = (mixed ^ codes[column]) * 0x9E3779B97F4A7C15ull;
      mixed ^= mixed >> 29;
    }
    *wide++ = cross.wide_offset + mixed % cross.size;
  }
}

// Weights with one accumulator each, updated by Adagrad; rows of a table only where touched.
struct Weights {
  int width;
  Floats values, accumulators;
  Weights(size_t rows, int used, int width, float scale, std::mt19937& random)
      : width(width), values(rows * width), accumulators(rows * width, kInitialAccumulator) {
    std::uniform_real_distribution<float> uniform(-scale, scale);
    for (size_t row = 0; row < rows; ++row) {
      for (int i = 0; i < used; ++i) values[row * width + i] = uniform(random);
    }
  }
  void Update(size_t start, size_t end, const float* gradient, float rate) {
    for (size_t i = start; i < end; ++i) {
      float g = gradient[i - start];
      accumulators[i] += g * g;
      values[i] -= rate * g / std::sqrt(accumulators[i]);
    }
  }
};

// Sums of gradients by row, and which rows have any.
struct Sparse {
  int width;
  Floats sums;
  std::vector<char> has;
  Ints rows;
  Sparse(size_t count, int width) : width(width), sums(count * width), has(count) {}
  float* Touch(int row) {
    if (!has[row]) has[row] = 1, rows.push_back(row);
    return &sums[static_cast<size_t>(row) * width];
  }
  void Absorb(Sparse& other) {
    for (int row : other.rows) {
      float* mine = Touch(row);
      float* theirs = &other.sums[static_cast<size_t>(row) * width];
      for (int i = 0; i < width; ++i) mine[i] += theirs[i], theirs[i] = 0;
      other.has[row] = 0;
    }
    other.rows.clear();
  }
  template <class Action>
  void Drain(Action action) {
    for (int row : rows) {
      float* sum = &sums[static_cast<size_t>(row) * width];
      action(row, sum);
      std::fill(sum, sum + width, 0.0f);
      has[row] = 0;
    }
    rows.clear();
  }
};

struct Model {
  const Spec& spec;
  std::mt19937 random{1};
  std::vector<Weights> kernels, biases, tables;
  Weights one_hot;
  Floats linear, linear_accumulators, linear_z;
  Ints sizes;   // inputs of each layer, then the one logit
  Ints padded;  // the same, as they lie in memory; what is padded stays 0

  static float Scale(int inputs, int outputs) { return std::sqrt(6.0f / (inputs + outputs)); }

  explicit Model(const Spec& spec)
      : spec(spec),
        one_hot(spec.one_hot_size, spec.hidden[0], spec.hidden[0],
                Scale(spec.num_dense + spec.one_hot_size, spec.hidden[0]), random),
        linear(spec.wide_size + 1),
        linear_accumulators(spec.wide_size + 1, kInitialAccumulator),
        linear_z(spec.wide_size + 1) {
    sizes.push_back(spec.num_dense);
    for (int units : spec.hidden) sizes.push_back(units);
    sizes.push_back(1);
    for (int size : sizes) padded.push_back(Padded(size));
    for (size_t i = 0; i + 1 < sizes.size(); ++i) {
      kernels.emplace_back(sizes[i], sizes[i + 1], padded[i + 1], Scale(sizes[i], sizes[i + 1]),
                           random);
      biases.emplace_back(1, sizes[i + 1], padded[i + 1], 0.0f, random);
    }
    for (const Table& table : spec.tables) {
      tables.emplace_back(table.rows, table.dimension, table.dimension,
                          1.0f / std::sqrt(table.dimension), random);
    }
  }

  void UpdateLinear(int id, float gradient) {
    float accumulator = linear_accumulators[id] + gradient * gradient;
    float before = std::sqrt(linear_accumulators[id]), after = std::sqrt(accumulator);
    linear_z[id] += gradient - (after - before) / spec.linear_rate * linear[id];
    linear_accumulators[id] = accumulator;
    linear[id] = -linear_z[id] * spec.linear_rate / after;
  }
};

// What one thread needs for its share of a batch.
struct Worker {
  const Spec& spec;
  Model& model;
  std::vector<Floats> kernel_sums, bias_sums, activations, deltas, transposed;
  std::vector<Sparse> table_sums;
  Sparse one_hot_sums, linear_sums;
  double loss = 0;

  Worker(const Spec& spec, Model& model, size_t rows)
      : spec(spec),
        model(model),
        one_hot_sums(spec.one_hot_size, spec.hidden[0]),
        linear_sums(spec.wide_size + 1, 1) {
    for (size_t i = 0; i < model.sizes.size(); ++i) {
      activations.emplace_back(rows * model.padded[i]);
      deltas.emplace_back(rows * model.padded[i]);
      if (i + 1 == model.sizes.size()) break;
      kernel_sums.emplace_back(model.sizes[i] * model.padded[i + 1]);
      bias_sums.emplace_back(model.padded[i + 1]);
      transposed.emplace_back(model.sizes[i + 1] * model.padded[i]);
    }
    for (const Table& table : spec.tables) table_sums.emplace_back(table.rows, table.dimension);
  }

  void Run(const Rows& rows, const size_t* order, size_t count, float per_row) {
    Look(rows, order, count);
    size_t layers = model.kernels.size();
    for (size_t i = 0; i < layers; ++i) Forward(rows, order, count, i);
    loss = 0;
    for (size_t r = 0; r < count; ++r) {
      const int32_t* wide = &rows.wide[order[r] * spec.num_wide];
      float logit = activations[layers][r * model.padded[layers]] + model.linear[spec.wide_size];
      for (int i = 0; i < spec.num_wide; ++i) logit += model.linear[wide[i]];
      float label = rows.labels[order[r]], slope;
      if (spec.is_regression) {
        slope = 2 * (logit - label);
        loss += (logit - label) * (logit - label);
      } else {
        slope = 1 / (1 + std::exp(-logit)) - label;
        loss += std::max(logit, 0.0f) - logit * label + std::log1p(std::exp(-std::fabs(logit)));
      }
      slope *= per_row;
      deltas[layers][r * model.padded[layers]] = slope;
      for (int i = 0; i < spec.num_wide; ++i) *linear_sums.Touch(wide[i]) += slope;
      *linear_sums.Touch(spec.wide_size) += slope;
    }
    for (size_t i = layers; i-- > 0;) Backward(rows, order, count, i);
  }

  void Look(const Rows& rows, const size_t* order, size_t count) {
    for (size_t r = 0; r < count; ++r) {
      float* input = &activations[0][r * model.padded[0]];
      std::copy_n(&rows.numbers[order[r] * spec.num_numbers], spec.num_numbers, input);
      for (size_t t = 0; t < spec.tables.size(); ++t) {
        int dimension = spec.tables[t].dimension;
        int id = rows.embedded[order[r] * spec.tables.size() + t];
        std::copy_n(&model.tables[t].values[static_cast<size_t>(id) * dimension], dimension,
                    input + spec.tables[t].place);
      }
    }
  }

  void Forward(const Rows& rows, const size_t* order, size_t count, size_t layer) {
    int in = model.sizes[layer], out = model.padded[layer + 1];
    bool is_last = layer + 1 == model.kernels.size();
    float* to = activations[layer + 1].data();
    for (size_t r = 0; r < count; ++r) {
      std::copy_n(model.biases[layer].values.data(), out, to + r * out);
      for (int i = 0; layer == 0 && i < spec.num_one_hot; ++i) {
        int id = rows.one_hot[order[r] * spec.num_one_hot + i];
        const float* weights = &model.one_hot.values[static_cast<size_t>(id) * spec.hidden[0]];
        for (int j = 0; j < spec.hidden[0]; ++j) to[r * out + j] += weights[j];
      }
    }
    Multiply(count, in, out, activations[layer].data(), model.padded[layer], 1,
             model.kernels[layer].values.data(), to, true);
    for (size_t i = 0; !is_last && i < count * out; ++i) to[i] = std::max(to[i], 0.0f);
  }

  void Backward(const Rows& rows, const size_t* order, size_t count, size_t layer) {
    int in = model.sizes[layer], width = model.padded[layer];
    int units = model.sizes[layer + 1], out = model.padded[layer + 1];
    const float* delta = deltas[layer + 1].data();
    const float* from = activations[layer].data();
    for (size_t r = 0; r < count; ++r) {
      for (int j = 0; j < out; ++j) bias_sums[layer][j] += delta[r * out + j];
    }
    Multiply(in, count, out, from, 1, width, delta, kernel_sums[layer].data(), true);
    Floats& kernel = transposed[layer];
    for (int k = 0; k < in; ++k) {
      for (int j = 0; j < units; ++j) {
        kernel[j * width + k] = model.kernels[layer].values[k * out + j];
      }
    }
    float* back = deltas[layer].data();
    Multiply(count, units, width, delta, out, 1, kernel.data(), back, false);
    for (size_t i = 0; layer > 0 && i < count * width; ++i) back[i] = from[i] > 0 ? back[i] : 0;
    for (size_t r = 0; layer == 0 && r < count; ++r) {
      for (int i = 0; i < spec.num_one_hot; ++i) {
        float* sums = one_hot_sums.Touch(rows.one_hot[order[r] * spec.num_one_hot + i]);
        for (int j = 0; j < units; ++j) sums[j] += delta[r * out + j];
      }
      for (size_t t = 0; t < spec.tables.size(); ++t) {
        float* sums = table_sums[t].Touch(rows.embedded[order[r] * spec.tables.size() + t]);
        for (int j = 0; j < spec.tables[t].dimension; ++j) {
          sums[j] += back[r * width + spec.tables[t].place + j];
        }
      }
    }
  }

  void Absorb(Worker& other) {
    auto add = [](Floats& mine, Floats& theirs) {
      for (size_t i = 0; i < mine.size(); ++i) mine[i] += theirs[i], theirs[i] = 0;
    };
    for (size_t i = 0; i < kernel_sums.size(); ++i) {
      add(kernel_sums[i], other.kernel_sums[i]);
      add(bias_sums[i], other.bias_sums[i]);
    }
    for (size_t t = 0; t < table_sums.size(); ++t) table_sums[t].Absorb(other.table_sums[t]);
    one_hot_sums.Absorb(other.one_hot_sums);
    loss += other.loss;
  }

  void UpdateDeep() {
    float rate = spec.rate;
    for (size_t i = 0; i < kernel_sums.size(); ++i) {
      model.kernels[i].Update(0, kernel_sums[i].size(), kernel_sums[i].data(), rate);
      model.biases[i].Update(0, bias_sums[i].size(), bias_sums[i].data(), rate);
      std::fill(kernel_sums[i].begin(), kernel_sums[i].end(), 0.0f);
      std::fill(bias_sums[i].begin(), bias_sums[i].end(), 0.0f);
    }
    auto drain = [&](Sparse& sums, Weights& weights) {
      sums.Drain([&](size_t row, float* sum) {
        weights.Update(row * weights.width, (row + 1) * weights.width, sum, rate);
      });
    };
    for (size_t t = 0; t < table_sums.size(); ++t) drain(table_sums[t], model.tables[t]);
    drain(one_hot_sums, model.one_hot);
  }
};

struct Lines {
  std::vector<const char*> starts;
  const char* end;
  Lines(const char* path, int skipped) {
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
      fprintf(stderr, "cannot read %s\n", path);
      exit(2);
    }
    const char* text = static_cast<const char*>(
        mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0));
    end = text + status.st_size;
    for (const char* at = text; at < end;) {
      if (skipped > 0) {
        --skipped;
      } else {
        starts.push_back(at);
      }
      const char* stop = static_cast<const char*>(memchr(at, '\n', end - at));
      at = stop ? stop + 1 : end;
    }
  }
  const char* Stop(size_t line) const {
    const char* stop =
        static_cast<const char*>(memchr(starts[line], '\n', end - starts[line]));
    if (!stop) stop = end;
    return stop > starts[line] && stop[-1] == '\r' ? stop - 1 : stop;
  }
};

int main(int argc, char** argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: limit SPEC CSV text|ids BATCH STEPS THREADS\n");
    return 2;
  }
  Spec spec(argv[1]);
  Lines lines(argv[2], spec.skipped_lines);
  bool from_text = std::string(argv[3]) == "text";
  size_t batch = std::stoul(argv[4]), steps = std::stoul(argv[5]), threads = std::stoul(argv[6]);
  size_t share = batch / threads;
  Model model(spec);
  std::vector<Worker> workers;
  for (size_t t = 0; t < threads; ++t) workers.emplace_back(spec, model, share);
  std::vector<Rows> shares(threads, Rows(spec, share));
  Rows all(spec, from_text ? 0 : lines.starts.size());
  for (size_t i = 0; !from_text && i < lines.starts.size(); ++i) {
    Parse(spec, lines.starts[i], lines.Stop(i), all, i);
  }
  std::vector<size_t> order(lines.starts.size()), straight(share);
  std::iota(order.begin(), order.end(), 0);
  std::iota(straight.begin(), straight.end(), 0);
  std::shuffle(order.begin(), order.end(), model.random);
  size_t per_epoch = order.size() / (share * threads);
  std::barrier sync(static_cast<ptrdiff_t>(threads));
  auto began = std::chrono::steady_clock::now();
  auto run = [&](size_t t) {
    for (size_t step = 0; step < steps; ++step) {
      const size_t* mine = &order[(step % per_epoch * threads + t) * share];
      float per_row = 1.0f / (share * threads);
      if (from_text) {
        for (size_t r = 0; r < share; ++r) {
          Parse(spec, lines.starts[mine[r]], lines.Stop(mine[r]), shares[t], r);
        }
        workers[t].Run(shares[t], straight.data(), share, per_row);
      } else {
        workers[t].Run(all, mine, share, per_row);
      }
      sync.arrive_and_wait();
      // The last thread has the wide part, the first all else.
      if (t == threads - 1) {
        Worker& own = workers[t];
        for (size_t o = 0; o < t; ++o) own.linear_sums.Absorb(workers[o].linear_sums);
        own.linear_sums.Drain([&](int id, float* sum) { model.UpdateLinear(id, *sum); });
      }
      if (t == 0) {
        for (size_t o = 1; o < threads; ++o) workers[0].Absorb(workers[o]);
        workers[0].UpdateDeep();
      }
      sync.arrive_and_wait();
    }
  };
  std::vector<std::thread> others;
  for (size_t t = 1; t < threads; ++t) others.emplace_back(run, t);
  run(0);
  for (auto& thread : others) thread.join();
  double secs =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  printf("%.1f %.6f\n", share * threads * steps / secs, workers[0].loss / (share * threads));
  return 0;
}
