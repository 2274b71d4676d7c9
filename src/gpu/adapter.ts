// Which adapters there are and what they can do, as plain data.

/** What an adapter offers, in the words of `svc doctor`. */
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
