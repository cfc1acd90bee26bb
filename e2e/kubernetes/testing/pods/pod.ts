/** The parts of a Pod (v1) that the stand-in for the kubelet reads. */
export type Pod = {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: PodSpec;
};

export type PodSpec = {
  readonly nodeName?: string;
  readonly serviceAccountName?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: { readonly runAsUser?: number; readonly runAsGroup?: number; readonly fsGroup?: number };
  readonly initContainers?: readonly ContainerSpec[];
  readonly containers: readonly ContainerSpec[];
  readonly volumes?: readonly VolumeSpec[];
};

export type ContainerSpec = {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  /** `Always` on an init container: a sidecar. */
  readonly restartPolicy?: string;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly securityContext?: { readonly readOnlyRootFilesystem?: boolean; readonly capabilities?: { readonly drop?: readonly string[] } };
  readonly startupProbe?: ProbeSpec;
  readonly readinessProbe?: ProbeSpec;
  readonly livenessProbe?: ProbeSpec;
  readonly lifecycle?: {
    readonly preStop?: { readonly sleep?: { readonly seconds: number }; readonly exec?: { readonly command: string[] } };
  };
};

export type ProbeSpec = {
  readonly httpGet: { readonly path: string; readonly port: string | number };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
};

type Items = { readonly items?: readonly { readonly key: string; readonly path: string }[] };
export type Projection = {
  readonly serviceAccountToken?: { readonly path: string; readonly expirationSeconds?: number };
  readonly configMap?: Items & { readonly name: string };
  readonly downwardAPI?: { readonly items: readonly { readonly path: string; readonly fieldRef: { readonly fieldPath: string } }[] };
};
export type VolumeSpec = {
  readonly name: string;
  readonly emptyDir?: object;
  readonly configMap?: Items & { readonly name: string };
  readonly projected?: { readonly sources: readonly Projection[] };
};

/** The value that `fieldRef` names. @throws if it is not supported here. */
export function fieldOf({ metadata, spec }: Pod, address: string, path: string): string {
  switch (path) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace;
    case 'metadata.uid':
      return metadata.uid;
    case 'status.podIP':
      return address;
    case 'spec.nodeName':
      return spec.nodeName ?? 'node';
    default:
      throw new Error(`the tests know no field ${path}`);
  }
}

/** A pod that runs. */
export type RunningPod = {
  readonly address: string;
  /** Its current status. */
  status(): { readonly ready: boolean; readonly containers: readonly ContainerStatus[] };
  /** Ends it as the kubelet does: hooks, SIGTERM, and SIGKILL after the grace period (s). */
  stop(graceSecs: number): Promise<void>;
  /** Ends it at once. */
  kill(): Promise<void>;
};

export type ContainerStatus = { readonly name: string; readonly ready: boolean; readonly restartCount: number; readonly isInit: boolean };
