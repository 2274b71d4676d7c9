// An adapter's properties as plain data.

import type { MatrixUnit } from './matrix-units.ts';

/** An adapter as `svc doctor` prints it. */
export interface AdapterSummary {
  index: number;
  vendor: string;
  architecture: string;
  device: string;
  description: string;
  /** Software: the adapter runs on the CPU. */
  software: boolean;
  features: string[];
  limits: Record<string, number>;
  subgroupMinSize: number;
  subgroupMaxSize: number;
  /** The matrix unit that GPU profiles use for rows of prompts, or why they use none. */
  matrixUnit: MatrixUnit | string;
}
