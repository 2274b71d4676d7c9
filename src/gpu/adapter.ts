// An adapter's properties as plain data.

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
}
