// Type of the memory plan of a model, as planModel returns it.

import type { Note } from '../../files/message.ts';
import type { MediaKind } from '../../files/media/decoded.ts';
import type { PLANNING } from '../../options/jobs.ts';
import type { KvCacheFormat } from '../../options/model.ts';
import type { ModelKind, SettingValues } from '../../options/setting.ts';
import type { Quantization } from '../opening/open-event.ts';

export type PlannedQuantization = Exclude<Quantization, 'auto'>;

/**
 * Options of planModel, with the meaning that they have when the model is opened. Without `memoryBudget`: the bytes that opening begins with
 * on this machine's adapter.
 */
export interface PlanOptions extends SettingValues<typeof PLANNING> {
  /** A folder, or an id of the hub. */
  model: string;
}

/** Plan of one quantization of a model. */
export interface PlannedChoice {
  quantization: PlannedQuantization;
  /** Bytes of weights on the device; of an image pipeline, in the stage that takes most memory. */
  weights: number;
  /** Bytes beside weights and KV cache; of an image pipeline, in the stage that takes most memory. */
  scratch: number;
  /** Bytes of KV cache that the budget leaves room for, at most what all requests at once need; 0: there is none, or the model does not open. */
  cache: number;
  /** Tokens of context that the budget leaves room for, at most the model's; null: the model has none. */
  contextLength: number | null;
  /** Whether the model opens. */
  opens: boolean;
}

export interface PlannedComponent {
  name: string;
  className: string;
  parameters: number;
  /** Bytes on the device, of the page that takes most: the encoder and the decoder of images are there one after the other. */
  weights: Record<PlannedQuantization, number>;
  /** Bytes of `weights.none` that Winograd's form of convolutions adds to the stored one; 0: it is not used. */
  winograd: number;
}

export interface ModelPlan {
  model: string;
  kind: ModelKind;
  /** The class that computes it. */
  architecture: string;
  /** The class that config.json names, where it wraps the one that is opened; null: that one. */
  wrapper: string | null;
  /** Kinds of media that it reads beside text, and whose towers are counted; empty for other models. */
  media: readonly MediaKind[];
  parameters: number;
  /** Types that the weights are stored in. */
  stored: readonly string[];
  /** Modules that are not read, and the number of their tensors. */
  ignored: { modules: readonly string[]; tensors: number };
  /** Notes that opening the model gives, and limits of the plan. */
  notes: readonly Note[];
  /** Tokens that the model was made for; null: it reads none, or as many as its component does. */
  contextLength: number | null;
  /** KV cache: format of keys and values, bytes a token, and of some lengths; null: there is none. */
  cache: {
    dtype: KvCacheFormat;
    tokenBytes: number;
    lengths: readonly { tokens: number; bytes: number }[];
  } | null;
  /** Components of an image pipeline; empty for other models. */
  components: readonly PlannedComponent[];
  choices: readonly PlannedChoice[];
  budget: number;
  /** Whether the model opens as asked with its whole context. */
  fits: boolean;
  /** Whether it opens as asked at all. */
  opens: boolean;
  /** The smallest change that was found with which it fits, as options of the engine; null: it fits, or no change is enough. */
  change: {
    contextLength?: number;
    quantization?: PlannedQuantization;
    cpuMoe?: true;
    layerwiseOffload?: true;
    memoryBudget?: number;
  } | null;
}
