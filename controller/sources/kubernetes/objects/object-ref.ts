/** The API group of Gateways and their routes. */
export const GATEWAY_GROUP = 'gateway.networking.k8s.io';
export const GATEWAY_API = `/apis/${GATEWAY_GROUP}/v1`;

/** A reference to an object. '' is the core group; without a namespace it is in that of the object that refers to it. */
export type ObjectRef = { readonly group: string; readonly kind: string; readonly namespace: string | null; readonly name: string };

export type RawRef = { readonly group?: string; readonly kind?: string; readonly namespace?: string; readonly name: string };

/** `kind` is the default kind. */
export const readRef = ({ group = '', kind, namespace, name }: RawRef, usual: string): ObjectRef => ({
  group,
  kind: kind ?? usual,
  namespace: namespace ?? null,
  name,
});
