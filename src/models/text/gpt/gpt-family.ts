// What a class of gpt-families.ts may have otherwise than others. Values left out of a config.json are those of transformers' configuration classes.

import type { Alibi } from '../../../kernels/batch.ts';
import type { ConfigReader } from '../../config-values.ts';
import type { PlainConfig } from '../blocks/plain-layer.ts';

/** Sizes that all classes state. */
export interface GptSizes {
  hidden: number;
  /** Number of attention heads. */
  heads: number;
  dims: number;
  context: number;
}

/** What a class reads by itself. */
export type GptParts = Pick<
  PlainConfig,
  'modules' | 'names' | 'attentionNames' | 'qkvBias' | 'outBias' | 'mlpBias'
> &
  Partial<Pick<PlainConfig, 'norm' | 'positions' | 'embeddingNorm' | 'headBias' | 'ignored' | 'parallel'>> & {
    kvHeads?: number;
    /** Other than separate projections of queries, keys and values: one, in this order. */
    order?: 'kinds' | 'groups';
    /** Slopes of ALiBi; left out: it is not used. */
    alibi?: Alibi;
    /** Rotated dimensions of a head, and what a rotation turns together; left out: heads are not rotated. */
    rotation?: { share: number; pairs: 'half' | 'adjacent' };
  };

export interface GptFamily {
  /** model_type of config.json. */
  modelType: string;
  examples: string;
  /** As TextClass has it. */
  needsNoCode?: boolean;
  /** Its keys by those that decoders share. */
  keys: Readonly<Record<string, string>>;
  context: number;
  tied: boolean;
  activation: string;
  /** Values of keys that are computed; a missing key counts as the first. */
  only: Readonly<Record<string, readonly unknown[]>>;
  read(config: ConfigReader, sizes: GptSizes): GptParts;
}
