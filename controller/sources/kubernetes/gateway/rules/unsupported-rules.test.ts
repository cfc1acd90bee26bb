import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import type { StatusCondition } from '../../status/conditions.ts';
import { clusterOf, type SampleObject, serviceOf } from '../../testing/cluster-snapshot.ts';

const backendRefs = [{ name: 'app', port: 80 }];
const route = (name: string, rules: readonly object[]): SampleObject => ({
  name,
  spec: { parentRefs: [{ name: 'g', namespace: 'n' }], hostnames: ['a.test'], rules },
});

/** What the routes of a.test answer, by path or expression, and what their statuses say. */
function served(...httpRoutes: readonly SampleObject[]) {
  const all = { namespaces: { from: 'All' } };
  const apps = ['n', 'odd'].map((namespace, at) => serviceOf(`${namespace}/app`, `10.0.0.${at}`));
  const { routes, problems, statuses } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      gateways: [
        {
          name: 'n/g',
          spec: { gatewayClassName: 'sluice', listeners: [{ name: 'http', protocol: 'HTTP', port: 80, allowedRoutes: all }] },
        },
      ],
      httpRoutes,
      services: apps.map(({ service }) => service),
      slices: apps.map(({ slice }) => slice),
    }),
  );
  const context = { current: {}, isWritten: false, addresses: [], refused: new Map(), now: 'now' };
  const told = statuses
    .filter(({ resource }) => resource.kind === 'HTTPRoute')
    .flatMap(({ build }) => (build(context)?.parents ?? []) as readonly { readonly conditions: readonly StatusCondition[] }[])
    .flatMap(({ conditions }) => conditions)
    .flatMap(({ type, status, reason, message }) => (reason === 'UnsupportedValue' ? [{ about: `${type}=${status}`, message }] : []));
  const handles = routes.find(({ domain }) => domain === 'a.test')?.handles;
  const answers = handles?.map(({ match, upstreams, respond }) => {
    const [path = '*'] = match?.path ?? [];
    return `${path} ${upstreams[0]?.address ?? respond?.status}`;
  });
  return {
    answers,
    told: told.map(({ message }) => message),
    about: told.map((one) => one.about),
    problems: problems.flatMap(({ code }) => (code === 'bad_route' ? [code] : [])),
  };
}

test('a rule whose condition is not supported does not keep its host from being routed, which others share', () => {
  for (const match of [
    { path: { type: 'RegularExpression', value: '(?=a)b' } },
    { headers: [{ name: 'x', type: 'RegularExpression', value: '(' }] },
  ]) {
    const good = { matches: [{ path: { type: 'PathPrefix', value: '/good' } }], backendRefs };
    const { answers, told, problems } = served(route('n/r', [{ backendRefs }]), route('odd/r', [{ matches: [match], backendRefs }, good]));
    assert.deepEqual([answers, problems], [['/good 10.0.0.1:8080', '* 10.0.0.0:8080'], []]);
    assert.match(told.join(), /^Dropped Rule: rule 1: match\..* is not a regular expression of RE2: .*; no request matches it$/);
    assert.deepEqual(served(route('n/r', [{ backendRefs }]), route('odd/r', [{ matches: [match], backendRefs }])).answers, [
      '* 10.0.0.0:8080',
    ]);
  }
});

test('requests of a rule with a filter that is not supported do not get to a less specific route, also if its route has no other rule', () => {
  const filters = [{ type: 'ExtensionRef', extensionRef: { group: 'example.org', kind: 'Login', name: 'staff' } }];
  const admin = { matches: [{ path: { type: 'PathPrefix', value: '/admin' } }], filters, backendRefs };
  const { answers, told } = served(route('n/all', [{ backendRefs }]), route('n/admin', [admin]));
  assert.deepEqual(answers, ['/admin 500', '* 10.0.0.0:8080']);
  assert.deepEqual(told, ['rule 1: the filter ExtensionRef is not supported; its requests are answered with 500']);
});

test('a route is accepted if one match of its rule is supported, which it serves, and takes precedence over younger routes', () => {
  const matches = [{ path: { type: 'PathPrefix', value: '/a' } }, { path: { type: 'RegularExpression', value: '(?=a)b' } }];
  const old = route('odd/old', [{ matches, backendRefs }]);
  const { answers, about } = served(old, route('n/young', [{ matches: matches.slice(0, 1), backendRefs }]));
  assert.deepEqual([answers, about], [['/a 10.0.0.1:8080', '/a 10.0.0.0:8080'], ['PartiallyInvalid=True']]);
});
