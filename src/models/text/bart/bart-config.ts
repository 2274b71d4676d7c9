// Converts config.json of BART, mBART, M2M-100, Marian, Pegasus, Blenderbot and PLBart to the configuration of bart.ts. Only this file knows its key
// names.

import { checkHeads, readConfig, type ConfigFile, type Json } from '../../config-values.ts';
import { ACTIVATIONS } from '../blocks/activation-names.ts';

/** By what the families differ. */
interface BartFamily {
  modelType: string;
  examples: string;
  /** Norms stand before a block, and one behind the last, or behind each residual sum. */
  norms: 'before' | 'behind';
  /** Embeddings are normalized. */
  embeddingNorm: boolean;
  positions: BartPositions;
  /** Settings where config.json has none. */
  scaled?: boolean;
  activation?: string;
}

/**
 * Rows are learned, or sines of all frequencies before cosines: the last frequency is 1/10000, or would be that of one pair more. `first`: row of the
 * first token.
 */
interface BartPositions {
  kind: 'learned' | 'sines' | 'sines-open';
  first: number;
}

const LEARNED: BartPositions = { kind: 'learned', first: 2 };
const OPEN: BartPositions = { kind: 'sines-open', first: 0 };

export const BART_FAMILIES: Readonly<Record<string, BartFamily>> = {
  BartForConditionalGeneration: {
    modelType: 'bart',
    examples: 'BART, bart-large-cnn, distilbart',
    ...{ norms: 'behind', embeddingNorm: true, positions: LEARNED },
  },
  MBartForConditionalGeneration: {
    modelType: 'mbart',
    examples: 'mBART, mBART-50',
    ...{ norms: 'before', embeddingNorm: true, positions: LEARNED },
  },
  M2M100ForConditionalGeneration: {
    modelType: 'm2m_100',
    examples: 'M2M-100, NLLB-200',
    ...{ norms: 'before', embeddingNorm: false, positions: { kind: 'sines', first: 2 } },
    ...{ scaled: true, activation: 'relu' },
  },
  MarianMTModel: {
    modelType: 'marian',
    examples: 'opus-mt',
    ...{ norms: 'behind', embeddingNorm: false, positions: OPEN },
  },
  PegasusForConditionalGeneration: {
    modelType: 'pegasus',
    examples: 'Pegasus',
    ...{ norms: 'before', embeddingNorm: false, positions: OPEN },
  },
  BlenderbotForConditionalGeneration: {
    modelType: 'blenderbot',
    examples: 'Blenderbot',
    ...{ norms: 'before', embeddingNorm: false, positions: { kind: 'learned', first: 0 } },
  },
  PLBartForConditionalGeneration: {
    modelType: 'plbart',
    examples: 'PLBart',
    ...{ norms: 'behind', embeddingNorm: true, positions: LEARNED, scaled: true },
  },
};

export interface BartHalf {
  layers: number;
  heads: number;
  ffn: number;
}

export type BartConfig = ReturnType<typeof readBartConfig>;

/** Throws bad_checkpoint and unsupported. */
export function readBartConfig(json: Json, className: string, file: ConfigFile) {
  const config = readConfig(file, json);
  const { norms, embeddingNorm, positions, scaled = false, activation = 'gelu' } = BART_FAMILIES[className]!;
  // Old files state what the class does.
  config.only({
    normalize_before: [norms === 'before'],
    add_final_layer_norm: [norms === 'before'],
    normalize_embedding: [embeddingNorm],
    static_position_embeddings: [positions.kind !== 'learned'],
    share_encoder_decoder_embeddings: [true],
    tie_encoder_decoder: [false],
  });
  const hidden = config.count('d_model', 1024);
  const half = (key: 'encoder' | 'decoder'): BartHalf => ({
    layers: config.count(`${key}_layers`, 12),
    heads: checkHeads(file.name, hidden, config.count(`${key}_attention_heads`, 16)),
    ffn: config.count(`${key}_ffn_dim`, 4096),
  });
  // Rows of sines begin behind that of the padding token.
  const first = positions.kind === 'sines' ? config.count('pad_token_id', 1) + 1 : positions.first;
  return {
    architecture: className,
    norms,
    embeddingNorm,
    positions: { ...positions, first },
    vocabulary: config.count('vocab_size'),
    hidden,
    context: config.count('max_position_embeddings', 1024),
    encoder: half('encoder'),
    decoder: half('decoder'),
    activation: config.choice('activation_function', ACTIVATIONS, activation),
    embeddingScale: config.flag('scale_embedding', scaled) ? hidden ** 0.5 : 1,
    eps: 1e-5,
    tied: config.flag('tie_word_embeddings', true),
  };
}
