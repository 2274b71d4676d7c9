// What electron-forge packages: the engine's files stay beside the archive, where its worker and large models are read in place.

export default {
  packagerConfig: {
    asar: { unpackDir: '{node_modules/svc-engine/models,node_modules/svc-engine/dist}' },
    ignore: [/node_modules\/webgpu\//], // Dawn's Node binding is not used in Electron
  },
  makers: [{ name: '@electron-forge/maker-zip' }],
};
