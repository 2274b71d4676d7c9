// A stage of a request, declared by `using`: it starts at its declaration, and when its block ends, its event reports the time and
// the peak of device memory. Resources declared after it leave the device before it ends.

import { EngineError } from '../../../files/error.ts';
import type { Drawing } from './drawing.ts';
import type { StageName } from '../calls/image-model.ts';

export class Stage implements Disposable {
  private readonly drawing: Drawing;
  private readonly name: StageName;
  private readonly startedAt: number;

  /** Throws cancelled if the request was aborted. */
  constructor(drawing: Drawing, name: StageName) {
    assertWanted(drawing.signal);
    this.drawing = drawing;
    this.name = name;
    drawing.onStage?.(name);
    this.startedAt = this.now();
    drawing.components.device.takePeak();
  }

  /** Current time in milliseconds without the time spent on profiling. */
  private now(): number {
    return performance.now() - (this.drawing.options.profiler?.spent ?? 0);
  }

  [Symbol.dispose](): void {
    const { components, emit } = this.drawing;
    const { device } = components;
    const milliseconds = this.now() - this.startedAt;
    emit({ type: 'stage', name: this.name, milliseconds, peakBytes: device.takePeak() });
    device.arena.clear();
  }
}

export function assertWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new EngineError('cancelled', 'the request was cancelled');
}
