// Sampling parameters as kernels read them, for rows that are drawn without a request.

import { CHOICE_WORDS } from '../../kernels/batch.ts';

export interface PlainChoice {
  temperature: number;
  topP: number;
  topK: number;
}

/** An entry of shaders/lib/choice.wgsl for each row: with a seed and a slot of its own, and without penalties. */
export function choiceWords(choices: readonly PlainChoice[]): Uint32Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(4 * CHOICE_WORDS * choices.length));
  choices.forEach(({ temperature, topP, topK }, row) => {
    const at = 4 * CHOICE_WORDS * row;
    view.setFloat32(at, temperature, true);
    view.setFloat32(at + 4, topP, true);
    view.setUint32(at + 12, topK, true);
    view.setUint32(at + 16, 1 + row, true);
    view.setUint32(at + 28, row, true);
    view.setFloat32(at + 48, 1, true);
  });
  return new Uint32Array(view.buffer);
}
