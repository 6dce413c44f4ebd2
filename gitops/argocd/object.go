package argocd

import "encoding/json"

// application has the fields of an Application that matter here.
type application struct {
	Metadata struct {
		Annotations     map[string]string `json:"annotations"`
		OwnerReferences []struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Project           string             `json:"project"`
		Source            *source            `json:"source"`
		Sources           []source           `json:"sources"`
		SourceHydrator    *hydrator          `json:"sourceHydrator"`
		Destination       destination        `json:"destination"`
		IgnoreDifferences []ignoreDifference `json:"ignoreDifferences"`
		SyncPolicy        struct {
			Automated *struct {
				Prune    bool  `json:"prune"`
				SelfHeal bool  `json:"selfHeal"`
				Enabled  *bool `json:"enabled"`
			} `json:"automated"`
			SyncOptions []string `json:"syncOptions"`
		} `json:"syncPolicy"`
	} `json:"spec"`
	Status status `json:"status"`
}

type destination struct {
	Server    string `json:"server"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

type hydrator struct {
	DrySource struct {
		RepoURL string `json:"repoURL"`
	} `json:"drySource"`
	SyncSource struct {
		TargetBranch string `json:"targetBranch"`
		Path         string `json:"path"`
	} `json:"syncSource"`
}

// source is one of spec.source and spec.sources.
type source struct {
	RepoURL        string           `json:"repoURL"`
	Path           string           `json:"path"`
	TargetRevision string           `json:"targetRevision"`
	Chart          string           `json:"chart"`
	Ref            string           `json:"ref"`
	Helm           *helmOptions     `json:"helm"`
	Kustomize      *kustomize       `json:"kustomize"`
	Directory      *directory       `json:"directory"`
	Plugin         *json.RawMessage `json:"plugin"`
}

type directory struct {
	Recurse bool   `json:"recurse"`
	Include string `json:"include"`
	Exclude string `json:"exclude"`
	Jsonnet struct {
		ExtVars []json.RawMessage `json:"extVars"`
		TLAs    []json.RawMessage `json:"tlas"`
		Libs    []string          `json:"libs"`
	} `json:"jsonnet"`
}

type helmOptions struct {
	ReleaseName             string         `json:"releaseName"`
	ValueFiles              []string       `json:"valueFiles"`
	IgnoreMissingValueFiles bool           `json:"ignoreMissingValueFiles"`
	Values                  string         `json:"values"`
	ValuesObject            map[string]any `json:"valuesObject"`
	Parameters              []struct {
		Name        string `json:"name"`
		Value       string `json:"value"`
		ForceString bool   `json:"forceString"`
	} `json:"parameters"`
	FileParameters []struct {
		Name string `json:"name"`
		Path string `json:"path"`
	} `json:"fileParameters"`
	SkipCRDs             bool     `json:"skipCrds"`
	SkipSchemaValidation bool     `json:"skipSchemaValidation"`
	Namespace            string   `json:"namespace"`
	KubeVersion          string   `json:"kubeVersion"`
	APIVersions          []string `json:"apiVersions"`
	Version              string   `json:"version"`
}

type kustomize struct {
	NamePrefix                string            `json:"namePrefix"`
	NameSuffix                string            `json:"nameSuffix"`
	Namespace                 string            `json:"namespace"`
	Images                    []string          `json:"images"`
	Version                   string            `json:"version"`
	CommonLabels              map[string]string `json:"commonLabels"`
	ForceCommonLabels         bool              `json:"forceCommonLabels"`
	LabelWithoutSelector      bool              `json:"labelWithoutSelector"`
	LabelIncludeTemplates     bool              `json:"labelIncludeTemplates"`
	CommonAnnotations         map[string]string `json:"commonAnnotations"`
	ForceCommonAnnotations    bool              `json:"forceCommonAnnotations"`
	CommonAnnotationsEnvsubst bool              `json:"commonAnnotationsEnvsubst"`
	Components                []string          `json:"components"`
	IgnoreMissingComponents   bool              `json:"ignoreMissingComponents"`
	Replicas                  []struct {
		Name  string      `json:"name"`
		Count intOrString `json:"count"`
	} `json:"replicas"`
	Patches []struct {
		Path   string `json:"path"`
		Patch  string `json:"patch"`
		Target *struct {
			Group              string `json:"group"`
			Version            string `json:"version"`
			Kind               string `json:"kind"`
			Name               string `json:"name"`
			Namespace          string `json:"namespace"`
			LabelSelector      string `json:"labelSelector"`
			AnnotationSelector string `json:"annotationSelector"`
		} `json:"target"`
		Options map[string]bool `json:"options"`
	} `json:"patches"`
}

// intOrString is a whole number, or the text of one.
type intOrString string

// UnmarshalJSON takes 3 and "3".
func (i *intOrString) UnmarshalJSON(data []byte) error {
	var text string
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*i = intOrString(text)
		return nil
	}
	var number int64
	if err := json.Unmarshal(data, &number); err != nil {
		return err
	}
	*i = intOrString(string(data))
	return nil
}

type ignoreDifference struct {
	Group                 string   `json:"group"`
	Kind                  string   `json:"kind"`
	Name                  string   `json:"name"`
	Namespace             string   `json:"namespace"`
	JSONPointers          []string `json:"jsonPointers"`
	JQPathExpressions     []string `json:"jqPathExpressions"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers"`
}

type status struct {
	ControllerNamespace string `json:"controllerNamespace"`
	Sync                struct {
		Status    string   `json:"status"`
		Revision  string   `json:"revision"`
		Revisions []string `json:"revisions"`
		// ComparedTo has the sources that were compared.
		ComparedTo synced `json:"comparedTo"`
	} `json:"sync"`
	History        []synced `json:"history"`
	OperationState *struct {
		Phase      string `json:"phase"`
		Message    string `json:"message"`
		FinishedAt string `json:"finishedAt"`
		Operation  struct {
			Sync *struct {
				DryRun    bool              `json:"dryRun"`
				Manifests []string          `json:"manifests"`
				Resources []json.RawMessage `json:"resources"`
			} `json:"sync"`
		} `json:"operation"`
		SyncResult *synced `json:"syncResult"`
	} `json:"operationState"`
	Conditions []struct {
		Type               string `json:"type"`
		Message            string `json:"message"`
		LastTransitionTime string `json:"lastTransitionTime"`
	} `json:"conditions"`
	Resources []struct {
		Group     string `json:"group"`
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Hook      bool   `json:"hook"`
	} `json:"resources"`
}

// synced is what a sync applied: an entry of status.history, or the result of the last operation.
type synced struct {
	Revision  string   `json:"revision"`
	Revisions []string `json:"revisions"`
	Source    source   `json:"source"`
	Sources   []source `json:"sources"`
}

type appProject struct {
	Spec struct {
		SyncWindows []window `json:"syncWindows"`
	} `json:"spec"`
}

type window struct {
	Kind         string   `json:"kind"`
	Schedule     string   `json:"schedule"`
	Duration     string   `json:"duration"`
	TimeZone     string   `json:"timeZone"`
	Applications []string `json:"applications"`
	Namespaces   []string `json:"namespaces"`
	Clusters     []string `json:"clusters"`
	AndOperator  bool     `json:"andOperator"`
	ManualSync   bool     `json:"manualSync"`
}
