// A run of `svc generate`, as its parts share it.

import type { ImageModel } from '../../index.ts';
import type { Interrupt } from '../process/interrupt.ts';
import type { Digests } from './generate-input.ts';
import type { Report } from './generate-report.ts';
import type { DrawPlan, Sources } from './generate-request.ts';
import type { ResolvedEvent } from './generate-resolved.ts';
import type { Perf } from './perf-dump.ts';

export interface Run {
  plan: DrawPlan;
  /** Digests of the source images of the run. */
  digests: Digests;
  model: ImageModel;
  report: Report;
  perf: Perf;
  interrupt: Interrupt;
}

/** A prompt of the run. */
export interface Task {
  index: number;
  prompt: string;
  resolved: ResolvedEvent;
  sources: Sources;
}
