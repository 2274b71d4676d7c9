import { describe, expect, it } from 'vitest';
import { config, open, refusal, whole } from '../checkpoint/memory-checkpoint.ts';

describe('quantized weights of other programs', () => {
  it.each([
    [{ quant_method: 'gptq', bits: 3, group_size: 128 }, 'gptq to 3 bits', 4],
    [{ quant_method: 'gptq', bits: 4, checkpoint_format: 'marlin' }, 'gptq to 4 bits', 4],
    [{ quant_method: 'awq', bits: 4, version: 'gemv' }, 'awq to 4 bits', 4],
    [{ quant_method: 'fp8', fmt: 'e5m2', weight_block_size: [128, 128] }, 'fp8 to 8 bits', 8],
    [
      {
        quant_method: 'compressed-tensors',
        format: 'pack-quantized',
        config_groups: { g: { weights: { num_bits: 2 } } },
      },
      'compressed-tensors to 2 bits',
      4,
    ],
    [
      {
        quant_method: 'modelopt',
        config_groups: {
          group_0: { input_activations: { num_bits: 8 }, weights: { num_bits: 4, type: 'float' } },
        },
      },
      'modelopt to 4 bits',
      4,
    ],
    [
      { quant_method: 'modelopt', quant_algo: 'NVFP4_AWQ', kv_cache_scheme: { num_bits: 8 } },
      'modelopt (NVFP4_AWQ) to 4 bits',
      4,
    ],
    // Qwen3.6-35B-A3B-NVFP4: attention in FP8, experts in NVFP4.
    [
      {
        quant_method: 'modelopt',
        quant_algo: 'MIXED_PRECISION',
        config_groups: {
          group_0: { input_activations: { num_bits: 8 }, weights: { num_bits: 8, type: 'float' } },
          group_1: { input_activations: { num_bits: 4 }, weights: { num_bits: 4, type: 'float' } },
        },
      },
      'modelopt (MIXED_PRECISION) to 4 and 8 bits',
      4,
    ],
    [{ quant_method: 'torchao', quant_type: 'int8wo' }, 'torchao to 8 bits', 8],
    [
      {
        quant_method: 'hqq',
        quant_config: { weight_quant_params: { nbits: 3 }, scale_quant_params: { nbits: 8 } },
      },
      'hqq to 3 bits',
      4,
    ],
    [{ bits: 4 }, 'an unnamed method to 4 bits', 4],
  ])('%j are refused by method and bits', async (packing, name, instead) => {
    const { code, message } = await refusal({
      ...whole,
      'config.json': { ...config, quantization_config: packing },
    });
    expect(code).toBe('unsupported');
    expect(message).toContain(
      `is quantized with ${name} (quantization_config in config.json), which is not read (read are FP8 (E4M3), GPTQ (4 and 8 bits), AWQ`,
    );
    expect(message).toContain(`\`quantization\` int${instead} for its size`);
  });

  it.each([
    [
      { 'config.json': { ...config, quantization: { group_size: 64, bits: 3 } } },
      'MLX to 3 bits (quantization in config.json)',
    ],
    [
      { 'config.json': { ...config, quantization: { group_size: 16, bits: 4, mode: 'nvfp4' } } },
      'MLX to 4 bits (quantization in config.json)',
    ],
    [
      {
        'config.json': {
          ...config,
          compression_config: { quant_method: 'compressed-tensors', format: 'int-quantized' },
        },
      },
      'compressed-tensors (compression_config in config.json)',
    ],
    [
      {
        'hf_quant_config.json': {
          producer: { name: 'modelopt', version: '0.29' },
          quantization: { quant_algo: 'NVFP4_AWQ', kv_cache_quant_algo: 'FP8' },
        },
      },
      'NVFP4_AWQ to 4 bits (hf_quant_config.json)',
    ],
    [
      {
        'hf_quant_config.json': {
          quantization: {
            quant_algo: 'MIXED_PRECISION',
            kv_cache_quant_algo: 'FP8',
            quantized_layers: { 'layers.0': { quant_algo: 'FP8' }, 'layers.1': { quant_algo: 'W4A8_AWQ' } },
          },
        },
      },
      'MIXED_PRECISION to 4 and 8 bits (hf_quant_config.json)',
    ],
    [{ 'hf_quant_config.json': { quantization: { exclude: [] } } }, 'ModelOpt (hf_quant_config.json)'],
    [
      { 'quantize_config.json': { bits: 2, group_size: 128, desc_act: true } },
      'GPTQ to 2 bits (quantize_config.json)',
    ],
  ])('%j are refused wherever it is declared', async (files, text) => {
    expect((await refusal({ ...whole, ...files })).message).toContain(text);
  });

  it.each<Record<string, object>>([
    {
      'hf_quant_config.json': {
        producer: { name: 'modelopt' },
        quantization: { quant_algo: 'FP8', kv_cache_quant_algo: 'FP8' },
      },
    },
    {
      'config.json': {
        ...config,
        quantization_config: {
          quant_method: 'modelopt',
          quant_algo: 'FP8',
          ignore: ['lm_head'],
          kv_cache_scheme: { num_bits: 8 },
        },
      },
    },
    {
      'config.json': {
        ...config,
        quantization_config: { quant_method: 'modelopt', quant_algo: 'FP8_PB_WO' },
      },
    },
    {
      'config.json': {
        ...config,
        quantization_config: { quant_method: 'gptq', bits: 8, checkpoint_format: 'gptq_v2' },
      },
    },
    { 'config.json': { ...config, quantization_config: { quant_method: 'awq', bits: 4, version: 'gemm' } } },
    { 'quantize_config.json': { bits: 4, group_size: 128, desc_act: true, sym: true } },
    { 'quant_config.json': { zero_point: true, q_group_size: 128, w_bit: 4, version: 'GEMM' } },
  ])('%j are read', async (files) => {
    expect((await open({ ...whole, ...files })).tensors.size).toBe(2);
  });

  it('are not found where the settings are empty', async () => {
    const plain = { ...config, quantization_config: null, quantization: {} };
    expect((await open({ ...whole, 'config.json': plain })).tensors.size).toBe(2);
    expect((await open({ ...whole, 'hf_quant_config.json': {} })).tensors.size).toBe(2);
  });

  it('are not reported for a broken file', async () => {
    expect(await refusal({ ...whole, 'hf_quant_config.json': 'damaged' })).toMatchObject({
      code: 'bad_checkpoint',
      message: expect.stringMatching(/^hf_quant_config\.json in \S+ is not JSON/) as string,
    });
  });
});
