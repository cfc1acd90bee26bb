import { LABEL_PREFIX } from '../../shared/name.ts';
import type { Problem } from '../../shared/wire/apply.ts';
import type { Severity } from '../../shared/wire/dashboard.ts';
import { SOURCE_FAILED } from '../../shared/wire/errors.ts';

type Advice = { readonly severity: Severity; readonly action: string };

/** The codes of the sources' problems. */
const BY_CODE: Readonly<Record<string, Advice>> = {
  bad_label: {
    severity: 'error',
    action: 'Correct the label and recreate the container; a site that was served before keeps its last good labels.',
  },
  bad_route: { severity: 'error', action: 'Correct the labels of the container and recreate it.' },
  no_address: {
    severity: 'error',
    action: 'Change the container as the message says; one without an address gets no requests.',
  },
  not_inspected: {
    severity: 'warning',
    action: 'Look at the container with docker inspect, and recreate it; new containers are found meanwhile.',
  },
  not_inspectable: {
    severity: 'warning',
    action: 'Allow the controller to inspect the container; until then it needs a label for its port if the engine lists none.',
  },
  route_too_large: { severity: 'error', action: 'Split the site into several.' },
  domain_taken: { severity: 'warning', action: 'Remove the domain from one of the two, or give one of them another domain.' },
  labels_differ: {
    severity: 'warning',
    action: 'Give all containers of the pool the same labels; until then the oldest container decides.',
  },
  unknown_label: {
    severity: 'warning',
    action: 'Correct or remove the label and recreate the container; until then the label has no effect.',
  },
  config_warning: { severity: 'warning', action: 'Change the line as the message says.' },
  removal_held: { severity: 'warning', action: 'Wait for the second listing, or reload to remove the routes at once.' },
};

/** Advice about objects of a cluster, where it differs from that about containers. */
const IN_A_CLUSTER: Readonly<Record<string, Advice>> = {
  bad_annotation: { severity: 'error', action: 'Correct the annotation and apply the object again.' },
  bad_host: { severity: 'error', action: 'Correct the host and apply the object again.' },
  bad_path: { severity: 'error', action: 'Correct the path and apply the object again.' },
  bad_route: { severity: 'error', action: 'Correct the object that the message names and apply it again.' },
  certificate_not_presented: { severity: 'warning', action: 'Give all listeners of the host the same certificate, or remove one of them.' },
  no_address: {
    severity: 'warning',
    action: 'Give the Service an address, or run the controller with --publish-address; requests are served meanwhile.',
  },
  no_authentication: {
    severity: 'error',
    action: 'Create or correct the Secret or the Service that the message names; no one is let in until then.',
  },
  no_backend: { severity: 'error', action: 'Create the Service, or correct its name or port and apply the object again.' },
  no_port: { severity: 'error', action: `Name a port of the Service with the annotation ${LABEL_PREFIX}port.` },
  no_certificate: { severity: 'warning', action: 'Create or correct the TLS Secret, or wait for what creates it, such as cert-manager.' },
  unknown_kind: {
    severity: 'warning',
    action: 'Update the definitions in the cluster; they are looked for every few seconds, and objects of other kinds are served.',
  },
  path_taken: { severity: 'warning', action: 'Remove the path from one of the two objects.' },
  unknown_label: { severity: 'warning', action: 'Correct or remove the annotation; until then it has no effect.' },
};

/** What to do about something that a controller could not use. `listed`: its source has been read successfully before. */
export function problemAdvice({ code, source }: Pick<Problem, 'code' | 'source'>, listed: boolean): Advice {
  if (code === SOURCE_FAILED) return { severity: 'error', action: failedAction(source, listed) };
  const known = source === 'kubernetes' ? (IN_A_CLUSTER[code] ?? BY_CODE[code]) : BY_CODE[code];
  return known ?? { severity: 'warning', action: 'Correct what the message names.' };
}

function failedAction(source: string, listed: boolean): string {
  const what = source === 'file' ? 'Correct it and save the file' : 'Correct the cause';
  return listed ? `${what}; until then the last good version is served.` : `${what}; until then nothing of it is served.`;
}
