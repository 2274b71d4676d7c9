// Reductions over a workgroup of WORKGROUP invocations in two levels, which take few barriers.
const SPAN = 16u; // invocations that one of the first level reduces

var<workgroup> bests: array<Best, WORKGROUP>;
var<workgroup> span_bests: array<Best, WORKGROUP / SPAN>;
var<workgroup> agreed: Best;
var<workgroup> terms: array<vec2f, WORKGROUP>;
var<workgroup> span_terms: array<vec2f, WORKGROUP / SPAN>;

struct Best {
  value: f32,
  token: u32,
}

struct Sums {
  before: vec2f,  // of the invocations before the own one
  all: vec2f,
}

fn better(a: Best, b: Best) -> Best {
  let is_better = b.value > a.value || (b.value == a.value && b.token < a.token);
  return Best(select(a.value, b.value, is_better), select(a.token, b.token, is_better));
}

// The largest value with the lowest token among equals; the same for every invocation.
fn best_of(own: Best, local: u32) -> Best {
  bests[local] = own;
  workgroupBarrier();
  if (local < WORKGROUP / SPAN) {
    var best = own;
    // A bound that compilers do not know keeps the loop short: unrolled, it is compiled several times as long.
    for (var i = local * SPAN; i < min(local * SPAN + SPAN, WORKGROUP); i++) {
      best = better(best, bests[i]);
    }
    span_bests[local] = best;
  }
  workgroupBarrier();
  if (local == 0u) {
    var best = own;
    for (var span = local; span < WORKGROUP / SPAN; span++) {
      best = better(best, span_bests[span]);
    }
    agreed = best;
  }
  return workgroupUniformLoad(&agreed);
}

// Sums of two terms in order: before the own invocation, and of all.
fn sums_of(own: vec2f, local: u32) -> Sums {
  terms[local] = own;
  workgroupBarrier();
  if (local < WORKGROUP / SPAN) {
    var sum = vec2f();
    for (var i = local * SPAN; i < min(local * SPAN + SPAN, WORKGROUP); i++) {
      sum += terms[i];
    }
    span_terms[local] = sum;
  }
  workgroupBarrier();
  let own_span = local / SPAN;
  var sums = Sums(vec2f(), vec2f());
  for (var span = 0u; span < WORKGROUP / SPAN; span++) {
    let sum = span_terms[span];
    sums.all += sum;
    sums.before += select(vec2f(), sum, span < own_span);
  }
  for (var i = own_span * SPAN; i < local; i++) {
    sums.before += terms[i];
  }
  return sums;
}
