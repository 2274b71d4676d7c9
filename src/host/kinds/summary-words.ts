// Words that the summaries of several kinds of models share.

/** The number of a model's parameters. */
export const parametersText = ({ parameters }: { parameters: number }): string =>
  `${(parameters / 1e6).toFixed(parameters < 1e7 ? 1 : 0)} M parameters`;

/** The formats of a model's weights on the device. */
export const formatsText = ({
  quantization,
  weightFormats,
}: {
  quantization: string;
  weightFormats: readonly string[];
}): string => (quantization === 'none' ? `as stored (${weightFormats.join(', ')})` : quantization);
