// By what NomicBERT, GTE, Jina Embeddings v3 and Jina's XLM-RoBERTa differ: names of classes, and values that files leave out.

/** By what the families differ. */
export interface RotaryFamily {
  /** null: it has one of other classes. */
  modelType: string | null;
  /** Beginning of the classes' names. */
  className: string;
  examples: string;
  judges?: string;
  kind: 'nomic' | 'gte' | 'jina' | 'flash';
  /** The class of configurations that Python code of its repositories defines, whose classes have names of others there. */
  codeConfig?: string;
  /** Ends of the names of the classes. */
  ends: readonly string[];
}

const LABELS = ['ForSequenceClassification', 'ForTokenClassification'] as const;

export const ROTARY_FAMILIES: readonly RotaryFamily[] = [
  {
    modelType: 'nomic_bert',
    className: 'NomicBert',
    examples: 'nomic-embed-text v1, v1.5 and v2 MoE, CodeRankEmbed, Snowflake Arctic Embed M long',
    kind: 'nomic',
    ends: ['Model'],
  },
  {
    modelType: 'new',
    className: 'New',
    examples: 'gte-base and -large v1.5, gte-multilingual, with its reranker',
    kind: 'gte',
    ends: ['Model', ...LABELS],
  },
  {
    modelType: 'gte',
    className: 'Gte',
    examples: 'Snowflake Arctic Embed M 2.0',
    kind: 'gte',
    ends: ['Model', ...LABELS],
  },
  {
    modelType: 'jina_embeddings_v3',
    className: 'JinaEmbeddingsV3',
    examples: 'jina-embeddings-v3-hf',
    kind: 'jina',
    ends: ['Model', ...LABELS, 'ForQuestionAnswering'],
  },
  {
    modelType: null,
    className: 'XLMRobertaFlash',
    examples: 'jina-embeddings-v3 as it is published',
    judges: 'jina-reranker-v2',
    kind: 'flash',
    codeConfig: 'XLMRobertaFlashConfig',
    ends: ['Model', ...LABELS],
  },
];

/** Function of the feed-forward block, and whether it is that of a gate. */
export const UNITS = {
  nomic: {
    silu: { activation: 'silu', gated: true },
    swiglu: { activation: 'silu', gated: true },
    geglu: { activation: 'gelu', gated: true },
    gelu: { activation: 'gelu', gated: false },
  },
  gte: { gelu: { activation: 'gelu', gated: true } },
  jina: { gelu: { activation: 'gelu', gated: false } },
  flash: { gelu: { activation: 'gelu', gated: false } },
} as const;

const JINA = {
  hidden: 1024,
  layers: 24,
  heads: 16,
  eps: 1e-5,
  context: 8194,
  theta: 20_000,
  types: 1,
  act: 'gelu',
} as const;
export const DEFAULTS = {
  nomic: {
    hidden: 768,
    layers: 12,
    heads: 12,
    eps: 1e-12,
    context: 2048,
    theta: 1000,
    types: 2,
    act: 'silu',
  },
  gte: {
    hidden: 768,
    layers: 12,
    heads: 12,
    eps: 1e-12,
    context: 8192,
    theta: 160_000,
    types: 1,
    act: 'gelu',
  },
  jina: JINA,
  flash: { ...JINA, theta: 10_000 },
} as const;
