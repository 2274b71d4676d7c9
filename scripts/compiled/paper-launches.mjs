// The launches of `npm run gpu-check` on a device that records and computes nothing: which pipelines each asks for.

import { Tape } from '../../dist/gpu/tape.js';
import { Launches } from '../gpu-check/launches.mjs';

export class PaperLaunches extends Launches {
  #name = '';

  /** Fills `found`: module's text → { shader, params, code, bindings, of: the first launch that asks for it }. */
  constructor(device, found) {
    super(device, { sink: { row() {} }, small: false, earlier: {} });
    const pipelineOf = device.pipeline.bind(device);
    device.pipeline = (shader, params = {}) => {
      const pipeline = pipelineOf(shader, params);
      const { code, bindings } = pipeline.shader;
      if (!found.has(code) && this.#name !== '')
        found.set(code, { shader, params, code, bindings, of: this.#name });
      return pipeline;
    };
  }

  copies() {
    return 1;
  }

  randomize() {}

  async row({ name }, { capacity, isDecode = false, activations = 'float', attention, record }) {
    this.#name = name;
    const isApart = isDecode && this.device.profile.matvecRows !== null;
    const tape = new Tape(this.device, capacity, {
      decodes: isApart ? ['rows'] : [],
      activations,
      attention,
    });
    record(tape);
    tape.finish();
    tape.destroy();
    this.#name = '';
  }

  async fail({ name }, error) {
    throw new Error(`${name}: ${error.message}`, { cause: error });
  }
}
