import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The programs of a real API server, found like by envtest. */
const ASSETS = process.env.KUBEBUILDER_ASSETS;
export type Asset = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kubectl' | 'helm';

export const assetPath = (name: Asset): string => join(ASSETS ?? '', name);

/**
 * Commands end before they need to collect garbage, and servers that live for minutes rarely do: it takes a fifth of their CPU time. On one
 * core, they take a tenth less: nothing has to be handed from one to another.
 */
export const COMMAND = { GOGC: 'off', GOMEMLIMIT: '1GiB', GOMAXPROCS: '1' };
export const SERVER = { GOGC: '400', GOMAXPROCS: '1' };

/** The definitions of the Gateway API's objects. */
export const GATEWAY_DEFINITIONS = join(ASSETS ?? '', 'gateway-api');

/** undefined if they are here, otherwise the text for `skip`. @throws with CI=true if they are not. */
export function missingAssets(): string | undefined {
  if (ASSETS !== undefined && existsSync(assetPath('kube-apiserver')) && existsSync(GATEWAY_DEFINITIONS)) return undefined;
  const reason =
    'needs KUBEBUILDER_ASSETS, the folder of etcd, kube-apiserver, kube-controller-manager, kubectl, helm and gateway-api (see CONTRIBUTING.md)';
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}
