// Types of a GGUF file's tensors: their numbers in the file, their names, and the bytes of a block of values. source: ggml's type traits

export interface GgufTensorType {
  name: GgufTypeName;
  /** Values of a block, which lie along a row. */
  block: number;
  /** Bytes of a block. */
  bytes: number;
}

const TYPES = {
  F32: { id: 0, block: 1, bytes: 4 },
  F16: { id: 1, block: 1, bytes: 2 },
  Q4_0: { id: 2, block: 32, bytes: 18 },
  Q4_1: { id: 3, block: 32, bytes: 20 },
  Q5_0: { id: 6, block: 32, bytes: 22 },
  Q5_1: { id: 7, block: 32, bytes: 24 },
  Q8_0: { id: 8, block: 32, bytes: 34 },
  Q8_1: { id: 9, block: 32, bytes: 40 },
  Q2_K: { id: 10, block: 256, bytes: 84 },
  Q3_K: { id: 11, block: 256, bytes: 110 },
  Q4_K: { id: 12, block: 256, bytes: 144 },
  Q5_K: { id: 13, block: 256, bytes: 176 },
  Q6_K: { id: 14, block: 256, bytes: 210 },
  Q8_K: { id: 15, block: 256, bytes: 292 },
  IQ2_XXS: { id: 16, block: 256, bytes: 66 },
  IQ2_XS: { id: 17, block: 256, bytes: 74 },
  IQ3_XXS: { id: 18, block: 256, bytes: 98 },
  IQ1_S: { id: 19, block: 256, bytes: 50 },
  IQ4_NL: { id: 20, block: 32, bytes: 18 },
  IQ3_S: { id: 21, block: 256, bytes: 110 },
  IQ2_S: { id: 22, block: 256, bytes: 82 },
  IQ4_XS: { id: 23, block: 256, bytes: 136 },
  I8: { id: 24, block: 1, bytes: 1 },
  I16: { id: 25, block: 1, bytes: 2 },
  I32: { id: 26, block: 1, bytes: 4 },
  I64: { id: 27, block: 1, bytes: 8 },
  F64: { id: 28, block: 1, bytes: 8 },
  IQ1_M: { id: 29, block: 256, bytes: 56 },
  BF16: { id: 30, block: 1, bytes: 2 },
  TQ1_0: { id: 34, block: 256, bytes: 54 },
  TQ2_0: { id: 35, block: 256, bytes: 66 },
  MXFP4: { id: 39, block: 32, bytes: 17 },
  NVFP4: { id: 40, block: 64, bytes: 36 },
  Q1_0: { id: 41, block: 128, bytes: 18 },
} as const;

export type GgufTypeName = keyof typeof TYPES;

const BY_ID: ReadonlyMap<number, GgufTensorType> = new Map(
  Object.entries(TYPES).map(([name, { id, block, bytes }]) => [
    id,
    { name: name as GgufTypeName, block, bytes },
  ]),
);

/** Types by number that older files have and that nothing writes any more. */
const REMOVED: ReadonlyMap<number, string> = new Map([
  [4, 'Q4_2'],
  [5, 'Q4_3'],
  [31, 'Q4_0_4_4'],
  [32, 'Q4_0_4_8'],
  [33, 'Q4_0_8_8'],
  [36, 'IQ4_NL_4_4'],
  [37, 'IQ4_NL_4_8'],
  [38, 'IQ4_NL_8_8'],
]);

/** null: the number stands for no type that is written today. */
export function tensorType(id: number): GgufTensorType | null {
  return BY_ID.get(id) ?? null;
}

/** Values of a block of a type. */
export function blockValues(name: GgufTypeName): number {
  return TYPES[name].block;
}

/** A number that is not a type, for messages. */
export function unknownType(id: number): string {
  const removed = REMOVED.get(id);
  return removed === undefined ? `${id}, which is not a known type` : `${removed}, which ggml has removed`;
}

/** Types whose weights are never computed: intermediates of other programs, and numbers that no model is stored in. */
const NEVER = /^(Q8_1$|Q8_K$|I\d+$|F64$)/;

/** Whether a type is refused wherever it occurs. */
export function isNeverRead(name: string): boolean {
  return NEVER.test(name);
}
