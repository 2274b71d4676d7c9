// The file of --perf-dump-path: times and memory of a run, as JSON. Fields that SGLang's file also has keep SGLang's names (timestamp
// to memory_checkpoints, meta); the interface below is the schema.

import { dirname } from 'node:path';
import type { AdapterSummary, ImageEvent, ImageModelInfo } from '../../index.ts';
import { keyOf } from './config-file.ts';
import type { ResolvedValue } from './generate-resolved.ts';
import { packageVersion } from '../process/package.ts';
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
  /** `prompt` counts from 0 in the order given, `step` from 1; `reused`: the share of the step's passes that reused what others computed, where steps may. */
  denoise_steps_ms: { prompt: number; sample: number; step: number; duration_ms: number; reused?: number }[];
  /** Peak GPU memory of each stage in MiB. */
  memory_checkpoints: Record<`after_${string}`, { peak_allocated_mb: number }>;
  /** Kernels that computed dense attention, by stage: auto's choice, or --attention-backend's. */
  attention_kernels: Record<string, string[]>;
  /** Exchanges among the ranks of a replica over all prompts, and the time between asking and receiving of the first rank, which computes meanwhile in a ring; {} for a model of one rank. */
  exchange: { ranks?: number; calls?: number; received_mb?: number; waited_ms?: number };
  /** GPU time per kernel family; {} if the adapter has no timestamps. */
  kernels_ms: Record<string, number>;
  adapter: Pick<AdapterSummary, 'vendor' | 'architecture' | 'device' | 'description' | 'software'>;
  /** Configuration key → value and its source. */
  options: Record<string, ResolvedValue>;
  /** Seed of each image, in the order of `outputs`. */
  seeds: number[];
  /** `replica`: the one that drew it, of several. */
  outputs: { path: string; prompt: number; sample: number; seed: number; replica?: number }[];
  failures: { prompt: number; code: string; message: string }[];
  meta: { prompt: string[]; model: string; pipeline: string; quantization: string; svdquant?: string };
}

/** Collects the timings of one `svc generate`. */
export class Perf {
  readonly dump: PerfDump;
  #savingMs = 0;
  #profilingMs = 0;

  constructor(prompts: string[], requestId: string) {
    this.dump = emptyDump(prompts, requestId);
  }

  loaded(info: ImageModelInfo, milliseconds: number): void {
    const { adapter, name, pipeline, quantization, svdquant } = info;
    const { vendor, architecture, device, description, software } = adapter;
    this.dump.adapter = { vendor, architecture, device, description, software };
    this.dump.load_duration_ms = milliseconds;
    const { prompt } = this.dump.meta;
    this.dump.meta = { prompt, model: name, pipeline, quantization, ...(svdquant && { svdquant }) };
  }

  resolved(options: Record<string, ResolvedValue>): void {
    const entries = Object.entries(options).map(([name, value]) => [keyOf(name), value]);
    this.dump.options = Object.fromEntries(entries) as PerfDump['options'];
  }

  warmedUp(milliseconds: number): void {
    this.dump.warmup_duration_ms = milliseconds;
  }

  /** Records an event of a prompt's run. */
  event(prompt: number, event: ImageEvent): void {
    const { memory_checkpoints: checkpoints, denoise_steps_ms: steps, kernels_ms: kernels } = this.dump;
    if (event.type === 'stage') {
      this.#addStage(event.name, event.milliseconds);
      const key = `after_${event.name.replaceAll('-', '_')}` as const;
      const peak = Math.max(checkpoints[key]?.peak_allocated_mb ?? 0, event.peakBytes / 2 ** 20);
      checkpoints[key] = { peak_allocated_mb: peak };
      const { attention_kernels: ran } = this.dump;
      if (event.attention.length > 0)
        ran[event.name] = [...new Set([...(ran[event.name] ?? []), ...event.attention])];
    } else if (event.type === 'step') {
      const { sample, step, milliseconds, reused } = event;
      steps.push({
        prompt,
        sample,
        step,
        duration_ms: milliseconds,
        ...(reused !== undefined && { reused }),
      });
    } else if (event.type === 'exchange') {
      const { calls = 0, received_mb: received = 0, waited_ms: waited = 0 } = this.dump.exchange;
      this.dump.exchange = {
        ranks: event.ranks,
        calls: calls + event.calls,
        received_mb: received + event.bytes / 2 ** 20,
        waited_ms: waited + event.milliseconds,
      };
    } else if (event.type === 'kernels') {
      this.#profilingMs += event.spent;
      for (const [name, milliseconds] of Object.entries(event.milliseconds))
        kernels[name] = (kernels[name] ?? 0) + milliseconds;
    }
  }

  saved(output: PerfDump['outputs'][number], milliseconds: number): void {
    this.#savingMs += milliseconds;
    this.dump.outputs.push(output);
    this.dump.seeds.push(output.seed);
  }

  failed(failure: PerfDump['failures'][number]): void {
    this.dump.failures.push(failure);
  }

  finished(milliseconds: number): void {
    this.#addStage('saving', this.#savingMs);
    this.dump.total_duration_ms = milliseconds - this.#profilingMs;
  }

  #addStage(name: string, milliseconds: number): void {
    const stage = this.dump.steps.find((known) => known.name === name);
    if (stage) stage.duration_ms += milliseconds;
    else this.dump.steps.push({ name, duration_ms: milliseconds });
  }
}

function emptyDump(prompts: string[], requestId: string): PerfDump {
  return {
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
    attention_kernels: {},
    exchange: {},
    kernels_ms: {},
    adapter: { vendor: '', architecture: '', device: '', description: '', software: false },
    options: {},
    seeds: [],
    outputs: [],
    failures: [],
    meta: { prompt: prompts, model: '', pipeline: '', quantization: '' },
  };
}

export async function writePerf(path: string, dump: PerfDump): Promise<void> {
  await makeFolder(dirname(path));
  await saveOver(path, Buffer.from(`${JSON.stringify(dump, null, 2)}\n`));
}
