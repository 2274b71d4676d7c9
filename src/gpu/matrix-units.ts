// Matrix units, which multiply small matrices that the lanes of a subgroup hold together: Dawn's chromium-experimental-subgroup-matrix.

/** How kernels use matrix units: lib/fragments.* of the shaders. */
export interface MatrixUnit {
  /** Rows and columns of a result in f32, and the k's of f16 that are summed at once; divisors of 32. */
  rows: number;
  columns: number;
  depth: number;
  /** Lanes of a subgroup. */
  subgroup: number;
  /** Whether the kernel asks for this size of subgroups, which have others, too. */
  pinned: boolean;
  /** Whether lanes compute in place of matrix units: for tests on adapters without them. */
  emulated?: boolean;
}

/** Properties of an adapter, as WebGPU reports them, that decide about matrix units. */
export interface MatrixFacts {
  vendor: string;
  software: boolean;
  features: readonly string[];
  languageFeatures: ReadonlySet<string>;
  subgroupMinSize: number;
  subgroupMaxSize: number;
  /** GPUAdapterInfo.subgroupMatrixConfigs of Dawn. */
  configs: readonly MatrixConfig[];
}

export interface MatrixConfig {
  componentType: string;
  resultComponentType: string;
  M: number;
  N: number;
  K: number;
}

export const MATRIX_FEATURE = 'chromium-experimental-subgroup-matrix';
export const SIZE_FEATURE = 'subgroup-size-control';
const NEEDED_FEATURES = ['subgroups', 'shader-f16', MATRIX_FEATURE];
const NEEDED_LANGUAGE = ['subgroup_id', 'subgroup_uniformity'];

/** Rows and columns of a fragment divide a quarter of a tile, and its k's a block of weights. */
const MOST = 32;

/** The matrix unit that kernels use, or why they use none. */
export function chooseMatrixUnit(facts: MatrixFacts): MatrixUnit | string {
  if (facts.software) return 'software adapters have none';
  const missing = [
    ...NEEDED_FEATURES.filter((name) => !facts.features.includes(name)),
    ...NEEDED_LANGUAGE.filter((name) => !facts.languageFeatures.has(name)),
  ];
  if (missing.length > 0) return `this WebGPU does not offer ${missing.join(', ')}`;
  const [config] = facts.configs.filter(fits).toSorted((a, b) => volume(b) - volume(a));
  if (!config) return 'no configuration multiplies f16 into f32 in sizes that divide 32';
  const sized = subgroupOf(facts);
  if (sized === null)
    return `subgroups have ${facts.subgroupMinSize} to ${facts.subgroupMaxSize} lanes, and this WebGPU does not offer ${SIZE_FEATURE}`;
  return { rows: config.M, columns: config.N, depth: config.K, ...sized };
}

function fits({ componentType, resultComponentType, M, N, K }: MatrixConfig): boolean {
  return (
    componentType === 'f16' &&
    resultComponentType === 'f32' &&
    [M, N, K].every((size) => size >= 8 && MOST % size === 0)
  );
}

function volume({ M, N, K }: MatrixConfig): number {
  return M * N * K;
}

/** Lanes of the subgroups of kernels with matrices; null: unknown. */
function subgroupOf({
  vendor,
  features,
  subgroupMinSize,
  subgroupMaxSize,
}: MatrixFacts): Pick<MatrixUnit, 'subgroup' | 'pinned'> | null {
  if (subgroupMinSize === subgroupMaxSize) return { subgroup: subgroupMinSize, pinned: false };
  // Intel's matrix units take the smallest size, and AMD's those of either.
  if (features.includes(SIZE_FEATURE)) return { subgroup: subgroupMinSize, pinned: true };
  // Dawn tells 4 to 64 on Metal. Source: Apple's Metal feature set tables: SIMD groups of 32 wherever there are matrices.
  return vendor === 'apple' ? { subgroup: 32, pinned: false } : null;
}

/** Parameters of lib/fragments.$FRAGMENTS.wgsl. */
export function fragmentParams({ rows, columns, depth, subgroup, pinned, emulated = false }: MatrixUnit) {
  return {
    FRAGMENTS: emulated ? 'shared' : 'matrix',
    ...(emulated ? {} : { REQUIRED_SUBGROUP: pinned ? subgroup : 0 }),
    SUBGROUP: subgroup,
    FRAGMENT_ROWS: rows,
    FRAGMENT_COLUMNS: columns,
    FRAGMENT_DEPTH: depth,
  };
}
