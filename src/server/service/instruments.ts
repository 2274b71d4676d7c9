// The counters, gauges and histograms of /metrics, with their names and help.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const LABEL = 'model_name';
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const GRAMMAR_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const TOKEN_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1, 2, 5];
const SOUND_SECONDS = [1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400];
const TOKENS = [1, 16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072];

const COUNTERS = {
  num_requests_total: 'Requests that were accepted.',
  num_aborted_requests_total: 'Accepted requests that did not come to their end.',
  prompt_tokens_total: 'Prompt tokens of accepted requests.',
  cached_tokens_total: 'Those of them that were in the prefix cache.',
  generation_tokens_total: 'Generated tokens.',
  realtime_tokens_total:
    'Tokens as they pass: prompt tokens that are computed or found in the cache, and generated ones.',
  sound_seconds_total: 'Seconds of the sounds of accepted requests that are transcribed.',
  evicted_tokens_total: 'Tokens that left the prefix cache for others.',
  backuped_tokens_total: 'Tokens copied from the device to host memory.',
  load_back_tokens_total: 'Tokens copied from host memory to the device.',
  prefetched_tokens_total: 'Tokens brought from storage to host memory.',
  num_so_requests_total: 'Accepted requests whose text has to match something.',
  num_grammar_total: 'Grammars that requests asked for, of strict and required tools too.',
  num_grammar_cache_hit_total: 'Those of them that were known already.',
  num_grammar_aborted_total: 'Those of them that were refused.',
  num_grammar_timeout_total: 'Those of them that took too long to compile.',
  num_retracted_requests_total: 'Times that a sequence gave its pages up for others.',
  spec_drafts_total: 'Drafts of next tokens that were computed.',
  spec_draft_tokens_total: 'Tokens of these drafts.',
  spec_accepted_tokens_total: 'Those of them that were right.',
  expert_slot_hits_total: 'Experts in host memory that a step chose and found in a slot on the device.',
  expert_slot_misses_total: 'Those that were copied into a slot.',
  expert_copied_bytes_total: 'Bytes of those copies.',
  device_restarts_total: 'Times that a lost device was opened again.',
};

const GAUGES = {
  num_running_reqs: 'Sequences that are computed.',
  num_queue_reqs: 'Sequences that wait for a place.',
  num_grammar_queue_reqs: 'Requests that wait for their grammar to be compiled.',
  gen_throughput: 'Tokens generated a second since this page was last read.',
  utilization: 'The larger one of token_usage and the share of the places to be computed in that are taken.',
  num_used_tokens: 'Tokens that the pages of running requests can hold.',
  kv_used_tokens: 'The same.',
  kv_evictable_tokens: 'Tokens that the pages of the prefix cache alone can hold.',
  kv_available_tokens: 'Tokens that the free pages can hold.',
  max_total_num_tokens: 'Tokens that all pages can hold.',
  token_usage: 'Share of the pages that running requests use, 0 to 1.',
  cache_hit_rate: 'Share of prompt tokens that were in the prefix cache, 0 to 1.',
  hicache_host_used_tokens: 'Tokens that the prefix cache holds in host memory.',
  hicache_host_total_tokens: 'Tokens that it may hold there.',
  hicache_host_used_bytes: 'Host memory that pages of the prefix cache use.',
  hicache_host_total_bytes: 'Host memory that they may use.',
  lora_pool_slots_used: 'LoRAs that are loaded.',
  lora_pool_slots_total: 'LoRAs that may be.',
  lora_pool_utilization: 'Share of those, 0 to 1.',
  engine_startup_time:
    'Seconds until the model answered: from the start of the server, or from the end of the one before it.',
  weight_load_duration_seconds: 'Seconds from the first of its weights to the last.',
  spec_accept_length: 'Tokens that a draft and the one sampled after it have given on average.',
  spec_accept_rate: 'Share of drafted tokens that were right, 0 to 1.',
  page_size: 'Tokens of a page.',
  context_len: 'Tokens of prompt and reply together.',
};

const HISTOGRAMS = {
  time_to_first_token_seconds: ['From a request to its first token.', SECONDS],
  inter_token_latency_seconds: ['From one token of a choice to its next.', TOKEN_SECONDS],
  e2e_request_latency_seconds: ['From a request to its end.', SECONDS],
  per_stage_req_latency_seconds: ['Of that, waiting, until the first token, and from there on.', SECONDS],
  queue_time_seconds: ['From the acceptance of a request to its first step.', SECONDS],
  grammar_compilation_time_seconds: ['Until a grammar that was not known yet was compiled.', GRAMMAR_SECONDS],
  prompt_tokens_histogram: ['Prompt tokens of a request.', TOKENS],
  uncached_prompt_tokens_histogram: ['Prompt tokens that were computed.', TOKENS],
  generation_tokens_histogram: ['Generated tokens of a choice.', TOKENS],
  sound_seconds_histogram: ['Seconds of the sound of a request that is transcribed.', SOUND_SECONDS],
} satisfies Record<string, [help: string, buckets: number[]]>;

/** Labels of a series beside the model. */
export interface Series {
  mode?: 'prefill_compute' | 'prefill_cache' | 'decode';
  stage?: 'queue' | 'prefill' | 'decode';
  /** Number of a replica; left out: the model has one. */
  dp_rank?: string;
}

const SERIES: Readonly<Record<string, keyof Series>> = {
  realtime_tokens_total: 'mode',
  per_stage_req_latency_seconds: 'stage',
  num_running_reqs: 'dp_rank',
  num_queue_reqs: 'dp_rank',
  num_used_tokens: 'dp_rank',
  kv_used_tokens: 'dp_rank',
  kv_evictable_tokens: 'dp_rank',
  kv_available_tokens: 'dp_rank',
  max_total_num_tokens: 'dp_rank',
  token_usage: 'dp_rank',
  cache_hit_rate: 'dp_rank',
};

type CounterName = keyof typeof COUNTERS;
type GaugeName = keyof typeof GAUGES;
type HistogramName = keyof typeof HISTOGRAMS;

/** Instruments of one model. */
export interface Instruments {
  count(name: CounterName, by: number, series?: Series): void;
  /** Sets a counter that the engine keeps; it restarts at 0 when a model is opened anew, as counters may. */
  setCount(name: CounterName, value: number): void;
  set(name: GaugeName, value: number, series?: Series): void;
  observe(name: HistogramName, value: number, series?: Series): void;
}

/** Takes the number of models that are open. */
export function createModelCount(registry: Registry): (count: number) => void {
  const gauge = new Gauge({
    name: 'svc:num_open_models',
    help: 'Models that are open, those that sleep among them.',
    registers: [registry],
  });
  return (count) => gauge.set(count);
}

/** Takes the seconds until a route's reply began, by the route's name. */
export function createRouteTimer(registry: Registry): (name: string, seconds: number) => void {
  const histogram = new Histogram({
    name: 'svc:func_latency_seconds',
    help: 'From a request to where its reply begins, by route.',
    buckets: [...TOKEN_SECONDS, 10, 30, 60, 120, 300],
    labelNames: ['name'],
    registers: [registry],
  });
  return (name, seconds) => histogram.observe({ name }, seconds);
}

/** Creates the instruments; returns those of a model by its name. */
export function createInstruments(registry: Registry): (model: string) => Instruments {
  const make = <N extends string, H, I>(
    table: Record<N, H>,
    of: (about: { name: string; labelNames: string[]; registers: Registry[] }, given: H) => I,
  ): Record<N, I> =>
    Object.fromEntries(
      Object.entries<H>(table).map(([name, given]) => {
        const labelNames = [LABEL, ...(SERIES[name] ? [SERIES[name]] : [])];
        return [name, of({ name: `svc:${name}`, labelNames, registers: [registry] }, given)];
      }),
    ) as Record<N, I>;
  const counters = make(COUNTERS, (about, help) => new Counter({ help, ...about }));
  const gauges = make(GAUGES, (about, help) => new Gauge({ help, ...about }));
  const histograms = make(HISTOGRAMS, (about, [help, buckets]) => new Histogram({ help, buckets, ...about }));
  return (model) => {
    const labels = { [LABEL]: model };
    return {
      count: (name, by, series = {}) => counters[name].inc({ ...labels, ...series }, by),
      setCount(name, value) {
        counters[name].remove(labels);
        counters[name].inc(labels, value);
      },
      set: (name, value, series = {}) => gauges[name].set({ ...labels, ...series }, value),
      observe: (name, value, series = {}) => histograms[name].observe({ ...labels, ...series }, value),
    };
  };
}
