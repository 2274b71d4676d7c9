// Launches of the engine's kernels, recorded on a tape of the engine and timed on the GPU, with their rates beside the ceilings of stage 2.

import { Tape } from '../../dist/gpu/tape.js';
import { Tensor, tensorBytes } from '../../dist/gpu/tensor.js';
import { FORMATS } from '../../dist/kernels/formats.js';
import { allocateMatrix, stacked } from '../../dist/kernels/matrix.js';
import { readCeiling } from './ceilings.mjs';
import { addOwnShader } from './open-device.mjs';
import { SINGLE, timeTurns, USUAL } from './timestamps.mjs';

/** Bytes of operands that launches take in turn, so that no cache holds what a step would read from memory; and the most operands. */
const COLD_BYTES = 2 ** 28;
const MOST_COPIES = 64;
/** A launch is left out if it takes longer than this at a small share of the arithmetic ceiling. */
const MOST_SECONDS = 5;
const SLOW_SHARE = 0.02;

/** What fills a buffer: random bits of which `and` keeps some and `or` sets others. */
const FILLS = {
  /** ±(0.5 to 1) in f32. */
  f32: { and: 0x807fffff, or: 0x3f000000 },
  /** ±(1 to 2)/64 in pairs of f16. */
  f16: { and: 0x83ff83ff, or: 0x24002400 },
  codes: { and: 0xffffffff, or: 0 },
  /** About 0.01 in f32 and bf16, 1 in f16, and a small exponent. */
  scales: { and: 0, or: 0x3c3c3c3c },
};

/** Measures launches on one device and adds them as rows. */
export class Launches {
  #sink;
  #times;
  #best;

  /** @param {{ sink: object, small: boolean, earlier: object }} job */
  constructor(device, { sink, small, earlier }) {
    this.device = device;
    this.small = small;
    this.#sink = sink;
    this.#times = small ? SINGLE : USUAL;
    this.#best = earlier.ceilings?.best ?? {};
    addOwnShader(device, 'fill.wgsl');
  }

  /** Runs `measure` while kernels use no matrix units. */
  async withoutMatrixUnits(measure) {
    const { capabilities } = this.device;
    const { matrixUnit } = capabilities;
    capabilities.matrixUnit = null;
    try {
      await measure();
    } finally {
      capabilities.matrixUnit = matrixUnit;
    }
  }

  /** Number of operands of `bytes` that launches take in turn. */
  copies(bytes) {
    return this.small ? 1 : Math.max(1, Math.min(MOST_COPIES, Math.ceil(COLD_BYTES / bytes)));
  }

  /**
   * Adds a row for `launches` equal launches that `record` puts on a tape; `bytes` and `operations`: what one reads and computes at least.
   * `isDecode`: the rows named `rows` are those of a decode step. `activations`: see AdapterProfile. `attention`: see TapeOptions.
   * A kernel that fails makes a row with its error.
   */
  async row(
    description,
    { capacity, sizes = capacity, isDecode = false, activations = 'float', attention, launches = 1, ...work },
  ) {
    const { bytes, operations = 0, record } = work;
    if (this.#mayTakeTooLong(operations)) {
      this.#sink.row('rows', {
        ...description,
        operations,
        value: 'left out: drivers may end what takes so long',
      });
      return;
    }
    const isApart = isDecode && this.device.profile.matvecRows !== null;
    const tape = new Tape(this.device, capacity, {
      decodes: isApart ? ['rows'] : [],
      activations,
      attention,
    });
    try {
      record(tape);
      tape.finish();
      const steps = tape.encodables(sizes).filter(({ groups }) => groups.every((count) => count !== 0));
      const ms = (await timeTurns(this.device, steps, this.#times)) / launches;
      const failure = this.device.takeError();
      if (failure) throw failure;
      const kernels = [...new Set(steps.map(({ name }) => name))];
      const figures = { dispatches: steps.length / launches, kernels, ms, bytes, operations };
      this.#sink.row('rows', { ...description, ...figures, ...this.#rates(figures) });
    } catch (error) {
      await this.fail(description, error);
    } finally {
      tape.destroy();
    }
  }

  /** Adds a row for what could not be measured. Throws if the device is lost, with which nothing more can be. */
  async fail(description, error) {
    this.#sink.row('rows', { ...description, error: error.message });
    this.device.takeError();
    const reason = await this.device.loss();
    if (reason !== null)
      throw new Error(`the device was lost at ${description.name}: ${reason}`, { cause: error });
  }

  #mayTakeTooLong(operations) {
    const { f32Tflops = 0 } = this.#best;
    const isGpu = !this.small && !this.device.summary.software;
    return isGpu && f32Tflops > 0 && operations / (SLOW_SHARE * f32Tflops * 1e12) > MOST_SECONDS;
  }

  #rates({ ms, bytes, operations }) {
    const gbytes = bytes / ms / 1e6;
    const tflops = operations / ms / 1e9;
    const { f32Tflops } = this.#best;
    const readGbytes = readCeiling(this.#best);
    const matrixTflops = this.#best['matrix f16 to f32'];
    return {
      gbytes,
      ...(readGbytes > 0 && { ofRead: gbytes / readGbytes }),
      ...(operations > 0 && {
        tflops,
        ...(f32Tflops > 0 && { ofFma: tflops / f32Tflops }),
        ...(matrixTflops > 0 && { ofMatrix: tflops / matrixTflops }),
      }),
    };
  }

  /** A matrix with random codes. */
  matrix(format, columns, k, { parts = stacked([{ name: 'w', rows: columns }]), ...form } = {}) {
    const matrix = allocateMatrix(this.device, FORMATS[format], k, parts, form);
    for (const { codes, scales } of matrix.windows) {
      this.randomize(codes, format === 'f16' ? 'f16' : 'codes');
      if (scales) this.randomize(scales, 'scales');
    }
    return matrix;
  }

  freeMatrix({ windows }) {
    for (const { codes, scales } of windows)
      for (const region of [codes, scales]) if (region) this.device.free(region.buffer);
  }

  /** A tensor of random numbers that has a buffer of its own. `sizes`: those that the shape names. */
  tensor(shape, sizes = {}) {
    const region = this.region(tensorBytes(shape, sizes), 'f32');
    return new Tensor(shape, 'f32', { region });
  }

  free({ region }) {
    this.device.free(region.buffer);
  }

  region(bytes, content) {
    const buffer = this.device.allocate('step', content, bytes);
    const region = { buffer, offset: 0, size: buffer.size };
    if (content !== null) this.randomize(region, content);
    return region;
  }

  words(values) {
    const region = this.region(Math.max(16, values.byteLength), null);
    this.device.gpu.queue.writeBuffer(region.buffer, 0, values);
    return region;
  }

  randomize(region, content) {
    const tape = new Tape(this.device, {});
    const words = region.size / 4;
    tape.dispatch('fill.wgsl', {
      args: { words, ...FILLS[content] },
      bind: { filled: region },
      groups: () => [Math.min(4096, Math.ceil(words / 256))],
    });
    tape.finish();
    tape.run({});
    tape.destroy();
  }
}

export function matrixBytes({ windows }) {
  return windows.reduce((sum, { codes, scales }) => sum + codes.size + (scales?.size ?? 0), 0);
}
