import { describe, expect, it } from 'vitest';
import { ggufSets, hasTag, setOf } from '../../../src/files/gguf/file-names.ts';

describe('the names of GGUF files', () => {
  it.each([
    ['Qwen3-0.6B-Q4_K_M.gguf', 'Q4_K_M'],
    ['qwen2.5-0.5b-instruct-q8_0.gguf', 'Q8_0'],
    ['llama-2-7b.Q5_K_S.gguf', 'Q5_K_S'],
    ['Meta-Llama-3.1-8B-Instruct-f16.gguf', 'F16'],
    ['model-fp16.gguf', 'F16'],
    ['gpt-oss-20b-MXFP4.gguf', 'MXFP4'],
    ['Qwen3-30B-A3B-UD-Q4_K_XL.gguf', 'UD-Q4_K_XL'],
    ['m-IQ4_XS.gguf', 'IQ4_XS'],
    ['m-IQ2_XXS.gguf', 'IQ2_XXS'],
    ['m-TQ1_0.gguf', 'TQ1_0'],
    ['BF16/m-BF16-00001-of-00002.gguf', 'BF16'],
    ['model.gguf', null],
    ['a-Q4_K_M-imat-Q6_K.gguf', 'Q6_K'],
  ])('%s has the quantization %s', (name, tag) => {
    expect(setOf(name, [name]).tag).toBe(tag);
  });

  it('are grouped by the file that they are parts of, without files beside the model', () => {
    const names = [
      'm-Q8_0-00002-of-00002.gguf',
      'm-Q8_0-00001-of-00002.gguf',
      'm-Q4_K_M.gguf',
      'mmproj-m-f16.gguf',
      'm.imatrix.gguf',
      'README.md',
    ];
    expect(ggufSets(names)).toEqual([
      { tag: 'Q4_K_M', names: ['m-Q4_K_M.gguf'], count: 1 },
      { tag: 'Q8_0', names: ['m-Q8_0-00001-of-00002.gguf', 'm-Q8_0-00002-of-00002.gguf'], count: 2 },
    ]);
  });

  it("are found by a tag in any case, with and without a publisher's mark", () => {
    const set = setOf('m-UD-Q4_K_XL.gguf', []);
    expect(['ud-q4_k_xl', 'Q4_K_XL', 'Q4_K_M', 'XL'].map((tag) => hasTag(set, tag))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
