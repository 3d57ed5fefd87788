// Package deploy holds what is shipped for running mcpvigil elsewhere to the types that
// read it: manifests to those of Kubernetes, the unit to systemd, the Dockerfile to a
// folder that the program is run in.
package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	top   = "../.."
	image = "REGISTRY/mcpvigil:TAG" // there is no published one
)

// manifest is one document, and the pod in it, if there is one.
type manifest struct {
	file, kind string
	object     any
	pod        *corev1.PodSpec
}

// kinds are those that the manifests use.
func kinds() map[string]func() (any, func() *corev1.PodSpec) {
	none := func() *corev1.PodSpec { return nil }
	return map[string]func() (any, func() *corev1.PodSpec){
		"v1/ConfigMap":             func() (any, func() *corev1.PodSpec) { return &corev1.ConfigMap{}, none },
		"v1/Secret":                func() (any, func() *corev1.PodSpec) { return &corev1.Secret{}, none },
		"v1/Service":               func() (any, func() *corev1.PodSpec) { return &corev1.Service{}, none },
		"v1/PersistentVolumeClaim": func() (any, func() *corev1.PodSpec) { return &corev1.PersistentVolumeClaim{}, none },
		"v1/Pod": func() (any, func() *corev1.PodSpec) {
			o := &corev1.Pod{}
			return o, func() *corev1.PodSpec { return &o.Spec }
		},
		"apps/v1/Deployment": func() (any, func() *corev1.PodSpec) {
			o := &appsv1.Deployment{}
			return o, func() *corev1.PodSpec { return &o.Spec.Template.Spec }
		},
		"batch/v1/Job": func() (any, func() *corev1.PodSpec) {
			o := &batchv1.Job{}
			return o, func() *corev1.PodSpec { return &o.Spec.Template.Spec }
		},
		"batch/v1/CronJob": func() (any, func() *corev1.PodSpec) {
			o := &batchv1.CronJob{}
			return o, func() *corev1.PodSpec { return &o.Spec.JobTemplate.Spec.Template.Spec }
		},
	}
}

// decode reads all documents of a file strictly: an unknown or a repeated key, or a
// value of another type, is an error.
func decode(file string, data []byte) ([]manifest, error) {
	var out []manifest
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(text, &meta); err != nil {
			return nil, err
		}
		kind := kinds()[meta.APIVersion+"/"+meta.Kind]
		if kind == nil {
			return nil, errors.New("unknown kind " + meta.APIVersion + "/" + meta.Kind)
		}
		object, pod := kind()
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			return nil, err
		}
		out = append(out, manifest{filepath.Base(file), meta.Kind, object, pod()})
	}
}

func manifests(t *testing.T) []manifest {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(top, "deploy/kubernetes/*.yaml"))
	if len(files) < 7 {
		t.Fatalf("found %d manifests", len(files))
	}
	var all []manifest
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found, err := decode(file, data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		all = append(all, found...)
	}
	return all
}

func TestStrict(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":  "apiVersion: v1\nkind: Pod\nspec: {container: []}\n",
		"wrong type":   "apiVersion: v1\nkind: Pod\nspec: {containers: {}}\n",
		"repeated key": "apiVersion: v1\nkind: Pod\nkind: Pod\n",
		"unknown kind": "apiVersion: v1\nkind: Pods\n",
	} {
		if _, err := decode(name, []byte(text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestManifests: what they refer to is there, and what they run needs no rights.
func TestManifests(t *testing.T) {
	all := manifests(t)
	seen := map[string]int{}
	maps, claims := map[string]bool{}, map[string]bool{}
	secrets := map[string]map[string]bool{}
	for _, m := range all {
		seen[m.kind]++
		switch o := m.object.(type) {
		case *corev1.ConfigMap:
			maps[o.Name] = true
		case *corev1.PersistentVolumeClaim:
			claims[o.Name] = true
		case *corev1.Secret:
			secrets[o.Name] = map[string]bool{}
			for key := range o.StringData {
				secrets[o.Name][key] = true
			}
		}
	}
	for kind, least := range map[string]int{"Deployment": 3, "CronJob": 1, "ConfigMap": 3, "Secret": 1, "Service": 1, "PersistentVolumeClaim": 2} {
		if seen[kind] < least {
			t.Errorf("found %d of kind %s", seen[kind], kind)
		}
	}
	for _, m := range all {
		if m.pod == nil {
			continue
		}
		volumes := map[string]bool{}
		for _, v := range m.pod.Volumes {
			volumes[v.Name] = true
			if v.ConfigMap != nil && !maps[v.ConfigMap.Name] {
				t.Errorf("%s: there is no ConfigMap %s", m.file, v.ConfigMap.Name)
			}
			if v.PersistentVolumeClaim != nil && !claims[v.PersistentVolumeClaim.ClaimName] {
				t.Errorf("%s: there is no claim %s", m.file, v.PersistentVolumeClaim.ClaimName)
			}
		}
		for _, c := range slices.Concat(m.pod.InitContainers, m.pod.Containers) {
			for _, mount := range c.VolumeMounts {
				if !volumes[mount.Name] {
					t.Errorf("%s: there is no volume %s", m.file, mount.Name)
				}
			}
			for _, e := range c.Env {
				if ref := e.ValueFrom; ref != nil && ref.SecretKeyRef != nil && !secrets[ref.SecretKeyRef.Name][ref.SecretKeyRef.Key] {
					t.Errorf("%s: there is no key %s in the Secret %s", m.file, ref.SecretKeyRef.Key, ref.SecretKeyRef.Name)
				}
			}
			if c.Image == image && len(c.Command) > 1 && c.Command[1] == "serve" {
				confined(t, m.file, m.pod, &c)
			}
		}
	}
}

// confined: a monitor runs without rights, and can write to its data and tokens.
func confined(t *testing.T, file string, pod *corev1.PodSpec, c *corev1.Container) {
	t.Helper()
	s := c.SecurityContext
	nonRoot := s != nil && s.RunAsNonRoot != nil && *s.RunAsNonRoot || pod.SecurityContext != nil && pod.SecurityContext.RunAsNonRoot != nil && *pod.SecurityContext.RunAsNonRoot
	if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Capabilities == nil || len(s.Capabilities.Drop) != 1 || !nonRoot {
		t.Errorf("%s: the monitor has rights that it does not need: %+v", file, s)
	}
	data := c.Command[slices.Index(c.Command, "--data")+1]
	writable := func(path string) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return !m.ReadOnly && (path == m.MountPath || strings.HasPrefix(path, m.MountPath+"/"))
		})
	}
	if !writable(data) || !writable("/tmp") {
		t.Errorf("%s: %s or /tmp is no volume that can be written to", file, data)
	}
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		if p == nil {
			t.Errorf("%s: the monitor has no liveness or no readiness probe", file)
		}
	}
	// Dependency health is for readiness: a restart mends nothing that is elsewhere.
	if live := c.LivenessProbe; live != nil && live.Exec != nil && slices.Contains(live.Exec.Command, "check") {
		t.Errorf("%s: liveness asks for another server", file)
	}
}
