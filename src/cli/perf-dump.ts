// The file of --perf-dump-path: times and memory of a run, as JSON. Fields that SGLang's file also has keep SGLang's names (timestamp
// to memory_checkpoints, meta); the interface below is the schema.

import { dirname } from 'node:path';
import type { AdapterSummary, ImageEvent, ImageModelInfo } from '../index.ts';
import { keyOf } from './config-file.ts';
import type { ResolvedValue } from './generate-resolved.ts';
import { packageVersion } from './package.ts';
import { makeFolder, saveOver } from './image-file.ts';

export interface PerfDump {
  /** Start of the run in UTC, ISO 8601. */
  timestamp: string;
  /** UUID of the run. */
  request_id: string;
  tag: 'cli_generate';
  /** Version of svc-engine. */
  version: string;
  /** Time from the first prompt to the last saved image, without loading, warm-up and profiling. */
  total_duration_ms: number;
  load_duration_ms: number;
  /** null without a warm-up. */
  warmup_duration_ms: number | null;
  /** Stages in order, each summed over all prompts, and `saving` (encoding and writing files). */
  steps: { name: string; duration_ms: number }[];
  /** `prompt` counts from 0 in the order given, `step` from 1. */
  denoise_steps_ms: { prompt: number; sample: number; step: number; duration_ms: number }[];
  /** Peak GPU memory of each stage in MiB. */
  memory_checkpoints: Record<`after_${string}`, { peak_allocated_mb: number }>;
  /** GPU time per kernel family; {} if the adapter has no timestamps. */
  kernels_ms: Record<string, number>;
  adapter: Pick<AdapterSummary, 'vendor' | 'architecture' | 'device' | 'description' | 'software'>;
  /** Configuration key → value and its source. */
  options: Record<string, ResolvedValue>;
  /** Seed of each image, in the order of `outputs`. */
  seeds: number[];
  outputs: { path: string; prompt: number; sample: number; seed: number }[];
  failures: { prompt: number; code: string; message: string }[];
  meta: { prompt: string[]; model: string; pipeline: string; quantization: string };
}

export interface Perf {
  loaded(info: ImageModelInfo, milliseconds: number): void;
  resolved(options: Record<string, ResolvedValue>): void;
  warmedUp(milliseconds: number): void;
  /** Records an event of a prompt's run. */
  event(prompt: number, event: ImageEvent): void;
  saved(output: PerfDump['outputs'][number], milliseconds: number): void;
  failed(failure: PerfDump['failures'][number]): void;
  finished(milliseconds: number): void;
  readonly dump: PerfDump;
}

export function createPerf(prompts: string[], requestId: string): Perf {
  const dump: PerfDump = {
    timestamp: new Date().toISOString(),
    request_id: requestId,
    tag: 'cli_generate',
    version: packageVersion(),
    total_duration_ms: 0,
    load_duration_ms: 0,
    warmup_duration_ms: null,
    steps: [],
    denoise_steps_ms: [],
    memory_checkpoints: {},
    kernels_ms: {},
    adapter: { vendor: '', architecture: '', device: '', description: '', software: false },
    options: {},
    seeds: [],
    outputs: [],
    failures: [],
    meta: { prompt: prompts, model: '', pipeline: '', quantization: '' },
  };
  const addStage = (name: string, milliseconds: number) => {
    const stage = dump.steps.find((known) => known.name === name);
    if (stage) stage.duration_ms += milliseconds;
    else dump.steps.push({ name, duration_ms: milliseconds });
  };
  let saving = 0;
  let profiling = 0;
  return {
    dump,
    loaded({ adapter, name, pipeline, quantization }, milliseconds) {
      const { vendor, architecture, device, description, software } = adapter;
      dump.adapter = { vendor, architecture, device, description, software };
      dump.load_duration_ms = milliseconds;
      dump.meta = { prompt: prompts, model: name, pipeline, quantization };
    },
    resolved(options) {
      const entries = Object.entries(options).map(([name, value]) => [keyOf(name), value]);
      dump.options = Object.fromEntries(entries) as PerfDump['options'];
    },
    warmedUp(milliseconds) {
      dump.warmup_duration_ms = milliseconds;
    },
    event(prompt, event) {
      if (event.type === 'stage') {
        addStage(event.name, event.milliseconds);
        const key = `after_${event.name.replaceAll('-', '_')}` as const;
        const peak = Math.max(
          dump.memory_checkpoints[key]?.peak_allocated_mb ?? 0,
          event.peakBytes / 2 ** 20,
        );
        dump.memory_checkpoints[key] = { peak_allocated_mb: peak };
      } else if (event.type === 'step') {
        const { sample, step, milliseconds } = event;
        dump.denoise_steps_ms.push({ prompt, sample, step, duration_ms: milliseconds });
      } else if (event.type === 'kernels') {
        profiling += event.spent;
        for (const [name, milliseconds] of Object.entries(event.milliseconds)) {
          dump.kernels_ms[name] = (dump.kernels_ms[name] ?? 0) + milliseconds;
        }
      }
    },
    saved(output, milliseconds) {
      saving += milliseconds;
      dump.outputs.push(output);
      dump.seeds.push(output.seed);
    },
    failed: (failure) => void dump.failures.push(failure),
    finished(milliseconds) {
      addStage('saving', saving);
      dump.total_duration_ms = milliseconds - profiling;
    },
  };
}

export async function writePerf(path: string, dump: PerfDump): Promise<void> {
  await makeFolder(dirname(path));
  await saveOver(path, Buffer.from(`${JSON.stringify(dump, null, 2)}\n`));
}
