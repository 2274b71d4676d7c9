// Type of the memory plan of a model, as planModel returns it.

import type { Quantization } from '../session/open-event.ts';

export type PlannedQuantization = Exclude<Quantization, 'auto'>;

export interface PlanOptions {
  /** A folder, or an id of the hub. */
  model: string;
  /** Branch, tag or commit on the hub. */
  revision?: string;
  /** Bytes for everything on the device; left out: a share of the memory that is free now, as on GPUs that share it with the CPU. */
  memoryBudget?: number;
  /** Quantization with which the model would be opened. Default: none. */
  quantization?: PlannedQuantization;
  /** Tokens that a request may have; the model's own where it is left out. */
  contextLength?: number;
}

/** Plan of one quantization of a model. */
export interface PlannedChoice {
  quantization: PlannedQuantization;
  /** Bytes of weights on the device; of an image pipeline, of the component that takes most. */
  weights: number;
  /** Bytes beside weights and KV cache. */
  scratch: number;
  /** Tokens of context that the budget leaves room for, at most the model's; null: the model has none. */
  contextLength: number | null;
  /** Whether the model opens. */
  opens: boolean;
}

export interface PlannedComponent {
  name: string;
  className: string;
  parameters: number;
  /** Bytes on the device. */
  weights: Record<PlannedQuantization, number>;
}

export interface ModelPlan {
  model: string;
  kind: 'text' | 'embedding' | 'image';
  /** The class that computes it. */
  architecture: string;
  /** The class that config.json names, where it wraps the one that is opened; null: that one. */
  wrapper: string | null;
  parameters: number;
  /** Types that the weights are stored in. */
  stored: readonly string[];
  /** Source of the weights' shapes and types: safetensors headers, or config.json alone. */
  source: 'headers' | 'config';
  /** Modules that are not read, and the number of their tensors. */
  ignored: { modules: readonly string[]; tensors: number };
  notes: readonly string[];
  /** Tokens that the model was made for; null: it reads none, or as many as its component does. */
  contextLength: number | null;
  /** KV cache: bytes a token, and of some lengths; null: there is none. */
  cache: { tokenBytes: number; lengths: readonly { tokens: number; bytes: number }[] } | null;
  /** Empty but for image pipelines. */
  components: readonly PlannedComponent[];
  choices: readonly PlannedChoice[];
  budget: number;
  /** Whether the model opens as asked with its whole context. */
  fits: boolean;
  /** Whether it opens as asked at all. */
  opens: boolean;
  /** The smallest change with which it fits, as options of the engine; null: it fits, or no change is enough. */
  change: { contextLength?: number; quantization?: PlannedQuantization; memoryBudget?: number } | null;
}
